"""What several machines serve together, as a table and as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.present.document import Block, Column, Heading, Paragraph, names, table
from app.results import text
from app.results.folder import RunFolder
from app.results.hosts_together import HOSTS, MANY, HostsTogether, hosts_csv
from app.results.labels import labels
from app.stats.between import LEAST_ROUNDS

HEADING = "hosts together"
_CAPTION = (
    "efficiency is the speedup over as many of the fastest; the work is dealt out in proportion to "
    "the rates, and what that costs is not in it"
)


def together_tables(found: Sequence[HostsTogether]) -> Iterator[Block]:
    """One table of the cases whose rates are added, then why others are not."""
    named = list(zip(names_of(found), found, strict=True))
    added = [(name, one) for name, one in named if not one.absent]
    if added:
        headings = ("inputs/s", "share", "95 %", "speedup", "efficiency", "1M inputs")
        yield Heading(HEADING, 3)
        yield table(
            (*names("case"), *map(Column, headings)),
            [cells for name, one in added for cells in _rows(name, one)],
            caption=_caption([one for _, one in added]),
        )
    reasons: dict[str, list[str]] = {}
    for name, one in named:
        if one.absent:
            reasons.setdefault(one.absent, []).append(name)
    for reason, of in reasons.items():
        yield Paragraph(f"no sum over hosts of {', '.join(of)}: {reason}")
    for name, one in added:
        if one.without:
            yield Paragraph(f"of {name}, {' and '.join(one.without)}: not added")


def together_sentences(found: Sequence[HostsTogether]) -> list[str]:
    """The same a sentence each, for a page."""
    return [_sentence(name, one) for name, one in zip(names_of(found), found, strict=True)]


def write_together(folder: RunFolder, found: Sequence[HostsTogether]) -> None:
    """`hosts.csv` in the run folder, where a case was timed on several hosts."""
    if found:
        folder.write(HOSTS, hosts_csv(found))


def names_of(found: Sequence[HostsTogether]) -> list[str]:
    """Each case without its host, told apart from the others."""
    anywhere = [replace(one.case, host="", naming=2) for one in found]
    told = labels(anywhere)
    return [told[case.case_id] for case in anywhere]


def _caption(added: Sequence[HostsTogether]) -> str:
    if all(one.interval for one in added):
        return _CAPTION
    return f"{_CAPTION}; an interval takes {LEAST_ROUNDS} rounds"


def _rows(name: str, one: HostsTogether) -> Iterator[tuple[str, ...]]:
    """All of them, then each with its share of the work."""
    told = text.significant(one.speedup), f"{one.efficiency:.0%}", _taken(one)
    yield name, text.rate_text(one.per_s), "", _between(one), *told
    for host, rate, share in zip(one.hosts, one.rates, one.shares, strict=True):
        yield f"  {host}", text.rate_text(rate), f"{share:.0%}", "", "", "", ""


def _dealt(one: HostsTogether) -> str:
    """`server 62 %, board 38 %`."""
    parts = zip(one.hosts, one.shares, strict=True)
    return ", ".join(f"{host} {share:.0%}" for host, share in parts)


def _between(one: HostsTogether) -> str:
    if one.interval is None:
        return ""
    return text.rate_interval(one.interval.low, one.interval.high)


def _taken(one: HostsTogether) -> str:
    """How long a million inputs take: to three digits where that is below a minute."""
    seconds = one.seconds_for(MANY)
    return text.time_text(seconds) if seconds < 60 else text.duration(seconds)


def _sentence(name: str, one: HostsTogether) -> str:
    if one.absent:
        return f"{name}: no sum over {' and '.join(one.hosts)}, {one.absent}"
    between = f" ({_between(one)})" if one.interval else ""
    others = f"; {' and '.join(one.without)}, and not added" if one.without else ""
    return (
        f"{name}: {text.rate_text(one.per_s)}{between} together, dealt to {_dealt(one)}: "
        f"{text.significant(one.speedup)} times {one.hosts[0]} alone, {one.efficiency:.0%} of "
        f"{len(one.parts)} such; a million inputs take {_taken(one)}{others}"
    )
