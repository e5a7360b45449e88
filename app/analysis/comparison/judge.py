"""The judge of comparisons: pairs of cases become verdicts, all of them judged together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.analysis.comparison.measured_case import COMPARED, confidence_of
from app.analysis.comparison.pairing import (
    NO_PERCENTILE,
    STATED_ALONE,
    Pair,
    RunVariations,
    UncomparedCase,
)
from app.cases.column import number_of
from app.cases.objectives import HIGHER_IS_BETTER
from app.cases.telemetry import STEADY_CLOCK, loads_obstruct
from app.run_folder.diagnostics import diagnostics_of
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.quantiles import Interval
from app.stats.verdict import (
    CLOCK_CHANGED,
    LOADED,
    NO_RUN_VARIATION,
    TOO_FEW_RUNS,
    RoundPairs,
    Verdict,
    judge_rounds,
)
from exporters.diagnostics import codes

Unit = Literal["us", "per_s"]


@dataclass(frozen=True, slots=True)
class Sides:
    """One figure of both cases in its `unit`, and its verdict: of a throughput the ratio above 1
    is faster, of a latency that below 1. Of numbers of cycles, times at one clock of the core."""

    first: float
    second: float
    verdict: Verdict
    unit: Unit = "us"
    clock_mhz: float | None = None

    @property
    def ratio(self) -> float:
        """Second over first."""
        return self.second / self.first

    @property
    def verdict_text(self) -> str:
        """The word, and of an undecided one the code of the reason and the reason."""
        verdict = self.verdict
        code = f" ({verdict.reason})" if verdict.reason else ""
        return f"{verdict.word}{code}: {verdict.detail}" if verdict.detail else verdict.word


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """One case beside another: its percentiles by name; `missing` are those that only one of the
    two has. `warning_codes` are those of the diagnostics of either. `fed_otherwise` are the inputs
    of both that were fed other values: the name, and both."""

    case_id: str
    label: str
    clock: str
    percentiles: Mapping[str, Sides]
    missing: tuple[str, ...] = ()
    warning_codes: tuple[str, ...] = ()
    fed_otherwise: tuple[tuple[str, str, str], ...] = ()


_FROM_FILES = (" given", " beside the model", "packaged")
"""How the column of the inputs ends where none was drawn."""
TOO_SHORT = "too few runs in a round"
"""Why there is no interval although there are rounds enough."""
NOT_KNOWN_APART = "measured apart"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`cases` have verdicts, `not_compared` none.

    `in_turn` says that both sides were measured in one run, round by round. `only_first` and
    `only_second` are the cases that the other side did not plan. Of two runs `environment` is what
    the two hosts do not share: name, first, second, and `damaged` has a sentence for each thing
    that could not be read of either. `detect` is the slowdown that a gate
    must be able to find, None for any; `allow_mixed` lets it judge rounds of several machines or
    engine versions. Of a gate `settings` are those that can change what it
    finds: name, value, origin.
    """

    first: str
    second: str
    band: float
    in_turn: bool
    cases: tuple[ComparedCase, ...]
    not_compared: tuple[UncomparedCase, ...] = ()
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    environment: tuple[tuple[str, str, str], ...] = ()
    damaged: tuple[str, ...] = ()
    detect: float | None = None
    allow_mixed: bool = False
    settings: tuple[tuple[str, str, str], ...] = ()

    @property
    def verdicts(self) -> list[Verdict]:
        """Of each case and percentile."""
        return [sides.verdict for case in self.cases for sides in case.percentiles.values()]

    def cases_with(self, word: str) -> list[ComparedCase]:
        """The cases of which some percentile got this verdict."""
        return [
            case
            for case in self.cases
            if any(sides.verdict.word == word for sides in case.percentiles.values())
        ]


def interval_note(verdicts: Iterable[Verdict]) -> str:
    """At which confidence the intervals of these verdicts are; "" where none has one."""
    usable = [verdict for verdict in verdicts if verdict.interval is not None]
    same_levels = {verdict.confidence for verdict in usable if verdict.word == "same"}
    other_levels = {verdict.confidence for verdict in usable if verdict.word != "same"}
    is_corrected = any(verdict.family > 1 for verdict in usable if verdict.word != "same")
    correction = ", corrected for all comparisons judged together (Holm)" * is_corrected
    parts = [
        f"{_percent(other_levels)}{correction}" if other_levels else "",
        f"{_percent(same_levels)} where two are the same (two one-sided tests)"
        if same_levels
        else "",
    ]
    levels = "; ".join(filter(None, parts))
    return f"confidence of the intervals: {levels}" if levels else ""


def _percent(levels: Iterable[float]) -> str:
    low, high = (f"{100 * level:.4g}" for level in (min(levels), max(levels)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def missing_percentiles(
    pairs: Sequence[Pair], cases: Sequence[ComparedCase]
) -> Iterator[UncomparedCase]:
    """The pairs of which no percentile has a verdict, since one side lacks each."""
    compared_ids = {case.case_id for case in cases}
    for pair in pairs:
        case_id = pair.second.case.case_id
        if case_id not in compared_ids:
            detail = "no percentile was measured on both sides: both need the same --percentiles"
            yield UncomparedCase(case_id, pair.label, NO_PERCENTILE, detail)


def judge_pairs(
    pairs: Sequence[Pair],
    band: float,
    in_turn: bool,
    names: Sequence[str] = COMPARED,
    variations: RunVariations = STATED_ALONE,
) -> tuple[ComparedCase, ...]:
    """A verdict for every figure of `names` that both sides of a pair have.

    In turn, rounds of the same number are one observation, but where the two are of different
    hosts or merged runs. What was not measured in turn is judged with what runs differ by: the p50
    in cycles where both sides have it, and of the rest what only the clock changed is told so.
    """
    figures: list[tuple[int, str, float, float, float | None]] = []
    comparisons: list[RoundPairs | None] = []
    confidences: list[float] = []
    for place, pair in enumerate(pairs):
        for name in names:
            a, b, clock_mhz = pair.first.value(name), pair.second.value(name), None
            if not in_turn and (clocks := pair.clocks(name, variations)):
                clock_mhz = clocks[0].clock_mhz
                a, b = (c.p50 * c.clock_mhz / clock_mhz / 1e3 for c in clocks)
            if a is not None and b is not None:
                figures.append((place, name, a, b, clock_mhz))
                comparisons.append(pair.rounds(name, variations, in_turn))
                confidences.append(confidence_of((pair.first, pair.second)))
    verdicts = judge_rounds(comparisons, band, confidences)
    by_pair: dict[int, dict[str, Sides]] = {}
    for (place, name, a, b, clock_mhz), verdict in zip(figures, verdicts, strict=True):
        pair = pairs[place]
        result = verdict if in_turn or clock_mhz else _adjust_for_clock(pair, verdict, band)
        result = result if in_turn else _adjust_for_load(pair, result, variations)
        result = adjust_for_gpu_clock(pair, result)
        if verdict.interval is None and min(_rounds(pair, in_turn)) >= MINIMUM_ROUNDS:
            result = _without_interval(pair, name, in_turn, verdict)
        unit: Unit = "us"
        if name in HIGHER_IS_BETTER:
            result, unit = _invert_verdict(result), "per_s"
        by_pair.setdefault(place, {})[name] = Sides(a, b, result, unit, clock_mhz)
    return tuple(
        ComparedCase(
            pairs[place].second.case.case_id,
            pairs[place].label,
            str(pairs[place].second.row["clock"]),
            percentiles,
            tuple(name for name in names if _has_one_side(pairs[place], name)),
            _codes(pairs[place]),
            tuple(_fed_otherwise(pairs[place])),
        )
        for place, percentiles in by_pair.items()
    )


def _codes(pair: Pair) -> tuple[str, ...]:
    sides = (pair.first, pair.second)
    return codes([entry for side in sides for entry in diagnostics_of(side.row)])


def _fed_otherwise(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """The inputs of both sides that do not hold the same; all of them as one where either was fed
    with files."""
    texts = [str(side.row["inputs_drawn"] or "") for side in (pair.first, pair.second)]
    if not all(texts) or texts[0] == texts[1]:
        return
    first, second = (dict(part.partition(" ")[::2] for part in i.split(", ")) for i in texts)
    if any(inputs.endswith(_FROM_FILES) for inputs in texts):
        yield "inputs", texts[0], texts[1]
        return
    for name in first:
        if second.get(name, first[name]) != first[name]:
            yield name, first[name], second[name]


def _without_interval(pair: Pair, name: str, in_turn: bool, verdict: Verdict) -> Verdict:
    """Why there is none although there are rounds enough: they are too short, or nobody knows by
    how much runs differ."""
    is_unpaired = not (in_turn and pair.alternated)
    figures = [len(side.by_round(name)) for side in (pair.first, pair.second)]
    if is_unpaired and min(figures) >= MINIMUM_ROUNDS:
        return replace(verdict, detail=NOT_KNOWN_APART, reason=NO_RUN_VARIATION)
    return replace(verdict, detail=TOO_SHORT, reason=TOO_FEW_RUNS)


def _rounds(pair: Pair, in_turn: bool) -> tuple[int, int]:
    """How many timed rounds each side has; of sides that alternated, how many both have."""
    first, second = pair.first, pair.second
    if in_turn and pair.alternated:
        count = len(set(first.rounds) & set(second.rounds))
        return count, count
    return len(first.rounds), len(second.rounds)


def _has_one_side(pair: Pair, name: str) -> bool:
    return (pair.first.value(name) is None) != (pair.second.value(name) is None)


def _invert_verdict(verdict: Verdict) -> Verdict:
    """The verdict of times, with the ratio of rates: the word stays, what is faster has more."""
    ratio, interval = verdict.ratio, verdict.interval
    return replace(
        verdict,
        ratio=None if ratio is None else 1.0 / ratio,
        interval=None if interval is None else Interval(1.0 / interval.high, 1.0 / interval.low),
    )


def _adjust_for_clock(pair: Pair, verdict: Verdict, band: float) -> Verdict:
    """Undecided where as many clock cycles took another time, because the clock was another."""
    first, second = pair.first.cpu_mhz, pair.second.cpu_mhz
    if first is None or second is None or verdict.ratio is None:
        return verdict
    edge, clocks = math.log1p(band), math.log(second / first)
    if abs(math.log(verdict.ratio)) <= edge or abs(math.log(verdict.ratio) + clocks) > edge:
        return verdict
    detail = f"the clock changed by {second / first - 1:+.0%}"
    return replace(verdict, word="undecided", detail=detail, reason=CLOCK_CHANGED)


def _adjust_for_load(pair: Pair, verdict: Verdict, variations: RunVariations) -> Verdict:
    """Undecided where other work on the cores may have made the change between two runs."""
    first, second = (number_of(side.row.get("load_1min")) for side in (pair.first, pair.second))
    cores = variations.cores.get(str(pair.second.row["host"] or ""))
    if first is None or second is None or not cores or pair.second.row["clock"] != "wall":
        return verdict
    if verdict.word not in ("slower", "faster") or not loads_obstruct(first, second, cores):
        return verdict
    detail = f"the load was {first:.1f} and {second:.1f} on {cores} cores"
    return replace(verdict, word="undecided", detail=detail, reason=LOADED)


def adjust_for_gpu_clock(pair: Pair, verdict: Verdict) -> Verdict:
    """Undecided where the same GPU ran at clocks that differ by more than its steps."""
    first, second = pair.first, pair.second
    uuid = first.row.get("gpu_uuid")
    clocks = [number_of(side.row.get("gpu_clock_mhz")) for side in (first, second)]
    usable = [clock for clock in clocks if clock]
    if not uuid or uuid != second.row.get("gpu_uuid") or len(usable) < len(clocks):
        return verdict
    if max(usable) <= STEADY_CLOCK * min(usable):
        return verdict
    detail = f"the GPU's clock was {usable[0]:.0f} and {usable[1]:.0f} MHz"
    return replace(verdict, word="undecided", detail=detail, reason=CLOCK_CHANGED)
