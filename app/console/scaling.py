"""Aggregate throughput of several replicas and of several hosts, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.comparison.aggregate_throughput import HOSTS, MANY, HostsTogether, hosts_csv
from app.formatting import text
from app.formatting.case_labels import Together, labels
from app.plan.curves import SHARED_WORK
from app.plan.plan import Plan
from app.present.document import Block, Cell, Column, Heading, Paragraph, names, table
from app.run_folder.folder import RunFolder
from app.stats.intervals import LEAST_ROUNDS

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


_SCALING_CAPTION = "efficiency is the speedup over the replicas, from pairs of rounds"


def scaling_tables(cases: Sequence[Case], rows: Sequence[Row], asked: Plan) -> Iterator[Block]:
    """One table of all cases that were measured alone too; where work is shared, as --replicas
    does, then why some have no efficiency. Nothing of a search over options, which varies sessions
    by itself."""
    if asked.tune:
        return
    several = [row for row in rows if row["scaling_baseline_case_id"]]
    bases = {str(row["scaling_baseline_case_id"]) for row in several}
    shown = [row for row in rows if row["scaling_efficiency"] or str(row["case_id"]) in bases]
    called = labels([case for case in cases if case.case_id in {str(r["case_id"]) for r in shown}])
    if any(row["scaling_efficiency"] for row in shown):
        headings = ("replicas", "inputs/s", "speedup", "efficiency", "efficiency 95 %")
        yield Heading("scaling", 3)
        yield table(
            (*names("case"), *map(Column, headings)),
            [_cells(called, row) for row in shown],
            caption=_scaling_caption(shown),
        )
    if not any(sweep.replicas or SHARED_WORK in sweep.scenarios for sweep in asked.sweeps):
        return
    together, missing = Together(cases), dict[str, list[str]]()
    for row in several:
        if row["scaling_missing_reason"]:
            missing.setdefault(str(row["scaling_missing_reason"]), []).append(str(row["case_id"]))
    for reason, case_ids in missing.items():
        yield Paragraph(f"no efficiency of {together.text(case_ids)}: {reason}")


def _scaling_caption(rows: Sequence[Row]) -> str:
    several = [row for row in rows if row["scaling_efficiency"]]
    if any(row["scaling_efficiency_ci_low"] is None for row in several):
        return f"{_SCALING_CAPTION}; an interval takes {LEAST_ROUNDS} rounds"
    return _SCALING_CAPTION


def _scaling_between(low: float, high: float) -> str:
    return text.TOO_NOISY if text.is_too_noisy(low, high) else f"{low:.0%} to {high:.0%}"


def _cells(called: dict[str, str], row: Row) -> tuple[Cell | str, ...]:
    replicas, rate, speedup, efficiency, low, high = (
        number_of(row[name])
        for name in (
            "replicas",
            "throughput_per_s",
            "speedup",
            "scaling_efficiency",
            "scaling_efficiency_ci_low",
            "scaling_efficiency_ci_high",
        )
    )
    between = "" if low is None or high is None else _scaling_between(low, high)
    return (
        called[str(row["case_id"])],
        Cell(f"{replicas or 1:g}", replicas or 1),
        Cell(text.rate_text(rate), rate, unit="per_s"),
        Cell("" if speedup is None else text.significant(speedup), speedup),
        Cell("" if efficiency is None else f"{efficiency:.0%}", efficiency),
        between,
    )
