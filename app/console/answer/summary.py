"""A finished run and the first lines of its answer: what was measured, issues, fastest runtimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from app.capabilities.slo_search.answer import RatesFound, rates_found
from app.capabilities.tuning.answer import TunesFound, tunes_found
from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.round import is_imported
from app.cases.status import TONES
from app.comparison.aggregate_throughput import HostsTogether, hosts_together
from app.comparison.measured_case import Measured, contender
from app.comparison.ranking import Fastest, fastest
from app.console.check import summary
from app.console.run_comparison import Outcome
from app.console.run_summary import verdict_text, whys
from app.formatting import text
from app.formatting.case_labels import Together
from app.plan.plan import Plan
from app.present.document import Block, Note, Paragraph, Tone
from app.run_folder.diagnostics import warning_groups
from app.run_folder.hosts import environments
from app.run_folder.run import Run
from app.stats.intervals import LEAST_ROUNDS
from exporters.diagnostics import catalogue
from exporters.model_names import is_null


@dataclass(frozen=True)
class EndedRun:
    """`wanted` is how many rounds a case was to have. `compared` is what a comparison came to,
    `rates`, `tunes` and `together` what was searched for and what several hosts serve. `here` is
    the folder of the shell that the answer is for, the current one by default."""

    run: Run
    measured: Sequence[Measured]
    wanted: Callable[[Case], int]
    compared: Outcome | None = None
    rates: RatesFound | None = None
    tunes: TunesFound | None = None
    together: Sequence[HostsTogether] = ()
    hosts_left_out: Sequence[str] = ()
    here: Path | None = None

    @property
    def plan(self) -> Plan:
        return self.run.manifest.asked

    @cached_property
    def rows(self) -> list[Row]:
        return [one.row for one in self.measured]

    @cached_property
    def own(self) -> list[Measured]:
        """Without the no-op copies of models."""
        return [one for one in self.measured if not is_null(one.case.model)]

    @property
    def has_answer(self) -> bool:
        """Whether the plan asks another question than which runtime is fastest."""
        return self.rates is not None or self.tunes is not None or self.compared is not None

    @property
    def is_imported(self) -> bool:
        """Whether all of it was measured by other programs."""
        return all(is_imported(one.case.runtime) for one in self.measured)

    @cached_property
    def contests(self) -> list[Fastest]:
        return fastest(self.own, self.plan.band)

    @cached_property
    def cases(self) -> Together:
        """Describes any set of the run's cases."""
        return Together([one.case for one in self.measured])


def ended_run(run: Run, measured: Sequence[Measured], compared: Outcome | None = None) -> EndedRun:
    """A stored run; of what a budget left out nothing is known."""
    return EndedRun(
        run,
        measured,
        lambda case: len(run.rounds_of(case)),
        compared,
        rates=rates_found(run),
        tunes=tunes_found(run),
        together=hosts_together(run, measured),
    )


MOST_CAUSES = 8
_BAD: Tone = "error"


def cause_notes(ended: EndedRun) -> Iterator[Block]:
    """Of each cause why cases have no figures, or none that count, whose it is and what it is."""
    found = whys(ended.rows, ended.cases)
    for why in found[:MOST_CAUSES]:
        # A row whose figures do not count has the status `ok` and no tone of its own.
        tone = TONES.get(why.status, _BAD)
        yield Note(why.status.replace("_", " "), why.sentence, tone, why.status.replace(" ", "_"))
    if len(found) > MOST_CAUSES:
        yield Paragraph(f"... and {len(found) - MOST_CAUSES:,} more in results.csv")


def warning_paragraph(ended: EndedRun) -> Iterator[Paragraph]:
    """`warnings in 26 of 60 cases: Rounds differ (26), Outliers (12)`, with their codes."""
    counts = warning_counts(ended.rows)
    if not counts:
        return
    cases = sum(bool(row["warning_codes"]) for row in ended.rows)
    listed = ", ".join(f"{title} ({count:,})" for _, title, count in counts)
    yield Paragraph(
        f"warnings in {cases:,} of {len(ended.rows):,} cases: {listed}",
        counts=tuple((code, count) for code, _, count in counts),
    )


def warning_counts(rows: Iterable[Row]) -> list[tuple[str, str, int]]:
    """The code and title of each diagnostic and how many cases have it, the most frequent first."""
    counts = [
        (group.diagnostics[0].code, catalogue.title(group.diagnostics[0]), len(group.case_ids))
        for group in warning_groups(rows)
    ]
    return sorted(counts, key=lambda entry: -entry[2])


_CLOCKS = ("wall", "device")
_FACTOR = 2.0
"""An interval that reaches further than this factor is given as one, and not in percent."""


def measured_line(ended: EndedRun) -> str:
    """`starter: 80 of 80 cases measured, all outputs right`."""
    rows = [one.row for one in ended.own]
    if ended.plan.check:
        return f"{ended.plan.name}: {summary(rows)}"
    if ended.is_imported:
        return f"{ended.plan.name}: {_cases(len(rows))} from other programs' files, never ranked"
    timed = sum(_is_timed(row) for row in rows)
    parts = [
        f"{timed:,} of {_cases(len(rows))} measured",
        *_outputs(rows, ended.plan.checked),
        *_not_timed(rows),
    ]
    return f"{ended.plan.name}: {', '.join(parts)}"


def trust_line(ended: EndedRun) -> str:
    """The machine, and how far the medians and the tails reach that it gave."""
    rows = [one.row for one in ended.own if one.row["clock"] in _CLOCKS and _is_timed(one.row)]
    if not rows:
        simulated = any(one.row["clock"] == "simulated" for one in ended.own)
        return "simulated: no figure depends on this machine" if simulated else ""
    hosts = environments(ended.run.manifest, ended.run.environments, rows)
    return f"{_machines(hosts)}: {', '.join(_reach(rows))}"


def _cases(number: int) -> str:
    return f"{number:,} case{'s' * (number != 1)}"


def _is_timed(row: Row) -> bool:
    return bool(row["iterations"]) or row["latency_p50_us"] is not None


def _outputs(rows: Sequence[Row], checked: bool) -> list[str]:
    """What the check of outputs came to."""
    if not checked:
        return ["outputs not checked (--no-verify-outputs)"]
    right = sum(row["output_ok"] is True for row in rows)
    wrong = sum(row["output_ok"] is False or row["status"] == "wrong_output" for row in rows)
    timed = sum(_is_timed(row) for row in rows)
    if right and right == timed and not wrong:
        return ["all outputs right"]
    parts = [f"{wrong:,} with wrong outputs"] if wrong else []
    unchecked = timed - right - sum(row["output_ok"] is False for row in rows)
    if timed and unchecked > 0:
        parts.append("outputs not checked" if unchecked == timed else f"{unchecked:,} not checked")
    return parts


def _not_timed(rows: Sequence[Row]) -> list[str]:
    """How many cases ended in each way without figures."""
    statuses = Counter(str(row["status"]) for row in rows if not _is_timed(row))
    statuses.pop("wrong_output", None)
    return [f"{n:,} {name.replace('_', ' ')}" for name, n in statuses.items()]


def _machines(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """One machine by what it is, several by their names."""
    if len(hosts) > 1:
        return f"{len(hosts)} machines ({', '.join(hosts)})"
    host: Mapping[str, Any] = next(iter(hosts.values()), {})
    facts = [str(host.get("cpu") or "this machine")]
    cores, load = host.get("cores_usable"), host.get("load_1min")
    if isinstance(cores, int):
        facts.append(f"{cores} core{'s' * (cores != 1)}")
    if host.get("virtual_machine") is True:
        facts.append("virtual machine")
    if isinstance(load, int | float):
        facts.append(f"load {load:.1f} at the start")
    return ", ".join(facts)


def _reach(rows: Sequence[Row]) -> list[str]:
    """How far the 95 % intervals of the medians and of the p99s reach."""
    rounds = [int(number_of(row["rounds"]) or 0) for row in rows]
    if max(rounds) < LEAST_ROUNDS:
        many = f"{max(rounds)} round{'s' * (max(rounds) != 1)}"
        return [f"with {many} the variation between processes is unknown"]
    return [part for name in ("p50", "p99") if (part := _reach_of(rows, name))]


def _reach_of(rows: Sequence[Row], name: str) -> str:
    known = [row for row in rows if row.get(f"latency_{name}_us") is not None]
    factors = sorted(factor for row in known if (factor := _factor(row, name)) is not None)
    if not factors:
        return f"{name} without interval" if known else f"no {name}: too few runs"
    typical, worst = median(factors), factors[-1]
    told = f"{name} within {_reach_text(typical)}"
    if _reach_text(worst) != _reach_text(typical):
        told += f" (worst: {_reach_text(worst)})"
    lacking = len(rows) - len(factors)
    return f"{told}, unknown in {lacking:,} of {len(rows):,}" if lacking else told


def _factor(row: Row, name: str) -> float | None:
    """By which factor the interval reaches beyond the figure, at the farther end."""
    value = number_of(row.get(f"latency_{name}_us"))
    low = number_of(row.get(f"latency_{name}_ci_low_us"))
    high = number_of(row.get(f"latency_{name}_ci_high_us"))
    if not value or not low or not high:
        return None
    return max(value / low, high / value)


def _reach_text(factor: float) -> str:
    if factor > _FACTOR:
        return f"a factor of {text.significant(factor, 2)}"
    return f"±{text.significant(100 * (factor - 1), 2 if factor >= 1.1 else 1)}%"


_FEW = 3
"""So many comparisons are each a sentence."""
_PERCENTILE = "p50"
_MOST_ROUNDS = 100


def leader_sentences(ended: EndedRun, labels: Mapping[str, str]) -> Iterator[str]:
    """One for each comparison of a few, else one for each kind of them, and why too few rounds
    decide nothing. `labels` are those of the answer's lines, by case id."""
    main = [one for one in ended.contests if not (one.simulated or one.between_hosts)]
    others = {
        "simulated": [one for one in ended.contests if one.simulated],
        "hosts": [one for one in ended.contests if one.between_hosts],
    }
    if len(main) <= _FEW:
        yield from (
            f"{labels.get(one.ranking[0], one.what)}: {verdict_text(one, ended.plan.band)}"
            for one in main
        )
    else:
        yield _counts(main)
        yield from _never_leading(main, ended.own)
    for kind, contests in others.items():
        if len(contests) == 1:
            yield f"{contests[0].what}: {verdict_text(contests[0], ended.plan.band)}"
        elif contests:
            yield f"{kind}: {_counts(contests)}"
    yield from _without_verdict(ended.contests)


def rounds_to_decide(contests: Sequence[Fastest]) -> tuple[int, int, int] | None:
    """A number of rounds, how many undecided comparisons it may decide, and of how many; None
    where no sensible number does. It is for all that are not hopeless, else for half of them."""
    undecided = _open(contests)
    needed = sorted(one.needed for one in undecided if one.needed is not None)
    for rounds in (needed[-1:], needed[(len(needed) - 1) // 2 : len(needed)][:1]):
        if rounds and rounds[0] <= _MOST_ROUNDS:
            decided = sum(number <= rounds[0] for number in needed)
            return rounds[0], decided, len(undecided)
    return None


def _open(contests: Sequence[Fastest]) -> list[Fastest]:
    return [
        one for one in contests if not one.parted and one.verdict.word != "same" and not one.apart
    ]


def _counts(contests: Sequence[Fastest]) -> str:
    """`ort-cpu is fastest in 14 of 20, openvino-cpu in 4; no difference in 1; undecided in 1`."""
    wins = Counter(one.first for one in contests if one.parted)
    same = sum(not one.parted and one.verdict.word == "same" for one in contests)
    undecided = [one for one in contests if not one.parted and one.verdict.word != "same"]
    total, parts = f"{len(contests):,}", []
    if wins:
        (first, most), *others = wins.most_common()
        named = [f"{first} is fastest in {most:,} of {total}"]
        parts.append(", ".join([*named, *(f"{name} in {count:,}" for name, count in others)]))
    if same:
        parts.append(f"no difference in {same:,}{'' if wins else f' of {total}'}")
    if undecided:
        leads = ", ".join(
            f"{name} leads {count:,}"
            for name, count in Counter(one.first for one in undecided).most_common()
        )
        every = len(undecided) == len(contests)
        many = f"all {total}" if every else f"{len(undecided):,}"
        parts.append(f"undecided in {many} ({leads})")
    return "; ".join(parts)


def _never_leading(contests: Sequence[Fastest], measured: Sequence[Measured]) -> Iterator[str]:
    """`behind the leader everywhere: torch-cpu (2.0 to 6.6 times the p50)`."""
    by_id = {one.case.case_id: one for one in measured}
    leaders = {one.first for one in contests}
    times: dict[str, list[float]] = {}
    for contest in contests:
        best, *others = (by_id[case_id] for case_id in contest.ranking)
        least = best.value_us(_PERCENTILE)
        for other in others:
            value = other.value_us(_PERCENTILE)
            if least and value and contender(other.row) not in leaders:
                times.setdefault(contender(other.row), []).append(value / least)
    if times:
        named = [f"{name} ({_times(ratios)} times the p50)" for name, ratios in times.items()]
        yield f"behind the leader everywhere: {', '.join(named)}"


def _times(ratios: Sequence[float]) -> str:
    low, high = (text.significant(ratio, 2) for ratio in (min(ratios), max(ratios)))
    return low if low == high else f"{low} to {high}"


def _without_verdict(contests: Sequence[Fastest]) -> Iterator[str]:
    """Why too few rounds decide nothing."""
    rounds = max((one.rounds for one in _open(contests)), default=LEAST_ROUNDS)
    if rounds < LEAST_ROUNDS:
        many = f"{rounds} round{'s' * (rounds != 1)}"
        yield f"no verdict with {many}: the variation between processes is unknown"
