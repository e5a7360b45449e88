"""Insights and their evidence: comparable rows, and disturbances that explain slow runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.analysis.columns.environment import STEAL_SHARE, SWITCHES_PER_S
from app.analysis.comparison.measured_case import Key, MeasuredCase
from app.cases.case import Case
from app.cases.column import Row, number_of, pairs_in
from app.cases.dimensions import MATCHING, matching_key
from app.formatting import text
from app.formatting.case_labels import CaseSet
from app.stats.patterns import LEAST_ROUNDS, Concordance, concordance
from exporters.model_names import is_null

MACHINE_MOVES = "machine_moves"
"""The kind of insight that intervals of all cases share one history of the machine."""


@dataclass(frozen=True, slots=True)
class Insight:
    """`kind` names the rule, `view` the key of the window's view that shows these cases.

    `brief` says the same without telling which of several cases, where there is little room.
    """

    kind: str
    sentence: str
    case_ids: tuple[str, ...]
    view: str
    brief: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A case of which a rule holds, the `description` of what, and the `other_ids` of cases that
    show it too.

    The larger `score` is, the more there is to it.
    """

    case_id: str
    score: float
    description: str
    other_ids: tuple[str, ...] = ()


def merge_findings(
    kind: str, view: str, findings: Sequence[Finding], case_set: CaseSet, shared_text: str
) -> Iterator[Insight]:
    """One sentence for all that a rule has found: `shared_text` is what holds of several
    alike."""
    if not findings:
        return
    sorted_findings = sorted(findings, key=lambda finding: -finding.score)
    first = sorted_findings[0]
    case_ids = dict.fromkeys(i for f in sorted_findings for i in (f.case_id, *f.other_ids))
    sentence = brief = f"{case_set.text([first.case_id])}: {first.description}"
    if len(findings) > 1:
        label = case_set.text([finding.case_id for finding in findings])
        sentence = f"{label}: {shared_text}; the most {sentence}"
        brief = f"{len(findings):,} cases: {shared_text}"
    yield Insight(kind, sentence, tuple(case_ids), view, brief)


@dataclass(frozen=True, slots=True)
class Fact:
    """A case that is well, its row, and its p50 with the interval, which takes three rounds."""

    case: Case
    row: Row
    p50_us: float
    interval_us: tuple[float, float] | None

    @property
    def case_id(self) -> str:
        return self.case.case_id

    @property
    def options(self) -> dict[str, str]:
        """All of the runtime's, as its rounds have told them."""
        return pairs_in(self.row.get("options"))

    def number(self, column: str) -> float | None:
        return number_of(self.row.get(column))


def facts_of(measurements: Iterable[MeasuredCase]) -> list[Fact]:
    """Those of rows that are ok and valid; a null twin is nobody's model."""
    facts = []
    for measurement in measurements:
        row, p50 = measurement.row, number_of(measurement.row.get("latency_p50_us"))
        is_usable = row.get("status") == "ok" and row.get("valid") is not False
        if is_usable and p50 and not is_null(measurement.case.model):
            ends = [number_of(row.get(f"latency_p50_ci_{end}_us")) for end in ("low", "high")]
            low, high = ends
            facts.append(Fact(measurement.case, row, p50, (low, high) if low and high else None))
    return facts


def group_except(facts: Sequence[Fact], column: str = "", option: str = "") -> list[list[Fact]]:
    """Groups of two and more that share all settings but this column's, or this option's."""
    groups: dict[tuple[Key, object], list[Fact]] = {}
    for fact in facts:
        setting_key = matching_key(fact.row, [name for name in MATCHING if name != column])
        options = {name: value for name, value in fact.options.items() if name != option}
        runtime_key = (fact.case.runtime, tuple(sorted(options.items())))
        groups.setdefault((setting_key, runtime_key), []).append(fact)
    return [group for group in groups.values() if len(group) > 1]


def minimum_ratio(slower: Fact, faster: Fact) -> float:
    """How many times as long the slower one takes at least, by the ends of both intervals; 0 where
    one of them has none."""
    if slower.interval_us is None or faster.interval_us is None:
        return 0.0
    return slower.interval_us[0] / faster.interval_us[1]


_MAJORITY = 0.5
_COUNT = re.compile(r"([a-z ]+) (\d+)")
_UNSEEN_CAUSE = "unseen"


def disturbance(fact: Fact, per_s: float = 0.0) -> str:
    """What had the core in the meantime, "" where nothing did that could explain slow runs.

    `per_s` is how often something slow came: as many switches as half of that explain it.
    """
    causes = []
    steal = fact.number("steal_fraction") or 0.0
    if steal >= STEAL_SHARE:
        causes.append(f"a hypervisor had the core for {text.share(steal)} of the time")
    switches = fact.number("involuntary_switches_per_s") or 0.0
    if switches >= max(SWITCHES_PER_S, _MAJORITY * per_s):
        causes.append(f"other threads took the core {text.significant(switches, 2)} times a second")
    if not causes and (cause := _main_cause(str(fact.row.get("outlier_causes") or ""))):
        causes.append(f"most slow runs had a cause in the machine ({cause})")
    return " and ".join(causes)


def _main_cause(outliers_by: str) -> str:
    """The most frequent cause, where at least half of the outliers have one; "" otherwise."""
    counts = {cause.strip(): int(count) for cause, count in _COUNT.findall(outliers_by)}
    cause_counts = {cause: count for cause, count in counts.items() if cause != _UNSEEN_CAUSE}
    if not cause_counts or sum(cause_counts.values()) < _MAJORITY * sum(counts.values()):
        return ""
    return max(cause_counts, key=lambda cause: cause_counts[cause])


_CHANGE_TEXTS = {
    "p50": "the speed of the machine changed",
    "mean": "how much of the core other work took changed",
}
"""What figures that rise and fall together show: a median follows the speed of the machine, a mean
also what interrupts a few runs."""


def moving_machine(measurements: Sequence[MeasuredCase]) -> Iterator[Insight]:
    """A sentence for the cases of each turn whose rounds' figures rise and fall together.

    Verdicts between such cases come from pairs of rounds and are not affected; the interval of each
    case holds for the states that the machine was in.
    """
    turns: dict[str, list[MeasuredCase]] = {}
    for measurement in measurements:
        if measurement.turn and measurement.row.get("clock") == "wall":
            turns.setdefault(measurement.turn, []).append(measurement)
    for cases in turns.values():
        for name, change_text in _CHANGE_TEXTS.items():
            by_case = _by_case(cases, name)
            agreement = _concordance(list(by_case.values()))
            if agreement is None or not agreement.is_significant:
                continue
            subject = f"{len(by_case)} cases were slow in the same passes"
            change = change_text + _clock_text(cases) * (name == "p50")
            brief = f"{subject}: {change}, which a longer --spread shows more of"
            sentence = (
                f"{brief} (concordance of their {name}s {agreement.coefficient:.2f}); comparisons "
                "within the run are not affected"
            )
            yield Insight(MACHINE_MOVES, sentence, tuple(by_case), "boxes", brief)
            break


_CLOCKS_APART = 1.02


def _clock_text(cases: Sequence[MeasuredCase]) -> str:
    """` (a core's clock from 4.24 to 4.53 GHz)`, where it moved by more than 2 %."""
    lows, highs = (
        [mhz for item in cases if (mhz := number_of(item.row.get(f"cpu_clock_{end}_mhz")))]
        for end in ("min", "max")
    )
    if not lows or max(highs) < _CLOCKS_APART * min(lows):
        return ""
    low, high = (text.significant(mhz / 1e3) for mhz in (min(lows), max(highs)))
    return f" (a core's clock from {low} to {high} GHz)"


def _by_case(cases: Sequence[MeasuredCase], name: str) -> dict[str, Mapping[int, float]]:
    """By case the rounds' figures, of cases that have enough of them."""
    figures = {measurement.case.case_id: measurement.by_round(name) for measurement in cases}
    return {key: by_round for key, by_round in figures.items() if len(by_round) >= LEAST_ROUNDS}


def _concordance(figures: Sequence[Mapping[int, float]]) -> Concordance | None:
    """Of the rounds that all of them have."""
    passes = sorted(set.intersection(*map(set, figures))) if figures else []
    return concordance([[by_round[number] for number in passes] for by_round in figures])
