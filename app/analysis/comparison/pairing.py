"""Pairs of measured cases: their rounds side by side, and why some can't be compared.

What two runs differ by without a change is best known from the runs of the machine's history: the
same case, in runs that nobody changed anything for. Else the p50 has a stated variation, and of a
tail nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from app.analysis.comparison.measured_case import MeasuredCase, clock_resolution
from app.cases.case import identity_of
from app.cases.objectives import HIGHER_IS_BETTER
from app.cases.round import TIMED_IN
from app.cases.units import percentile_of
from app.machine.installed_runtimes import options_of
from app.stats.core_state import TypicalClock
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.levels import ratio_in_turns, ratios_by_state
from app.stats.verdict import STATED, RoundPairs, RunVariation, pair_rounds
from runtimes import registry
from runtimes.registry import parse_spec
from runtimes.session.host import CALL

_MIDDLE = 50.0
_P50, CYCLES = "p50", "cycles"
_OFF_CLOCK = 0.2
"""Of what two clocks differ by: work that waits for memory may follow the clock in part."""
_STATED_IN_CYCLES = RunVariation(0.035, math.inf, "stated")
"""Of the p50 in cycles: 0.2 to 1 % where the work hardly needs the memory, 3.3 % were seen."""
Key = tuple[str, str, str, str, str]
"""A case, a percentile, a clock, a host and its processor."""


@dataclass(frozen=True, slots=True)
class RunVariations:
    """By case and percentile what two runs of one machine differ by.

    `past` is from its history, `cpus` are the processors of the hosts that both runs share and
    `cores` how many these have.
    """

    past: Mapping[Key, RunVariation] = field(default_factory=dict)
    cpus: Mapping[str, str] = field(default_factory=dict)
    cores: Mapping[str, int] = field(default_factory=dict)

    def of(self, first: MeasuredCase, second: MeasuredCase, name: str) -> RunVariation | None:
        """None where it is not known, as of a tail without a history."""
        host = str(second.row["host"] or "")
        if str(first.row["host"] or "") == host:
            clock = str(second.row["clock"] or "")
            key = (identity_of(second.case), name, clock, host, self.cpus.get(host, ""))
            if variation := self.past.get(key):
                return variation
        return STATED if is_middle(name) else None


STATED_ALONE = RunVariations()
"""Where there is no history."""


def is_middle(name: str) -> bool:
    """Whether it is the median or below, of which a variation is stated."""
    percentile = percentile_of(name)
    return percentile is not None and percentile <= _MIDDLE


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cases of the same clock to be compared, and what the pair is called."""

    label: str
    first: MeasuredCase
    second: MeasuredCase

    def clocks(self, name: str, variations: RunVariations) -> tuple[TypicalClock, ...]:
        """The p50s of both at typical clocks, where they are compared as numbers of cycles: those
        of sides that were measured apart on one processor. Empty where a side has no such p50."""
        sides = self.first, self.second
        hosts = {str(side.row["host"] or "") for side in sides}
        found = tuple(side.at_clock for side in sides if side.at_clock)
        is_one = name == _P50 and len(hosts) == 1 and hosts <= variations.cpus.keys()
        return found if is_one and len(found) == len(sides) else ()

    @property
    def alternated(self) -> bool:
        """Whether rounds of one number were measured in turn, on one machine."""
        return self.first.turn == self.second.turn

    def rounds(
        self, name: str, variations: RunVariations = STATED_ALONE, in_turn: bool = True
    ) -> RoundPairs | None:
        """One figure round by round: paired by number where both alternated in one run, else all
        rounds of each. None where nobody knows by how much runs differ; those on a simulated clock
        differ by their rounds alone."""
        a, b = _times(self.first, name), _times(self.second, name)
        resolution = clock_resolution(self.first, self.second, name)
        if in_turn and self.alternated:
            return self._in_turns(name, a, b, resolution)
        if clocks := self.clocks(name, variations):
            first, second = clocks
            ratio = second.clock_mhz / first.clock_mhz
            in_cycles = variations.of(self.first, self.second, CYCLES) or _STATED_IN_CYCLES
            at_first = tuple(ratio * p50 for p50 in second.by_round)
            off = _OFF_CLOCK * abs(math.log(ratio))
            return RoundPairs(first.by_round, at_first, False, CYCLES, off, in_cycles)
        variation = variations.of(self.first, self.second, name)
        if self.second.row["clock"] == "simulated":
            variation = None
        elif variation is None:
            return None
        return RoundPairs(tuple(a.values()), tuple(b.values()), False, name, resolution, variation)

    def _in_turns(
        self, name: str, a: Mapping[int, float], b: Mapping[int, float], resolution: float
    ) -> RoundPairs:
        """Of the rounds those whose processes took turns with each other, where these are enough;
        the ratio of their medians is that of their turns."""
        first, second = self.first.turns, self.second.turns
        shared = [
            number
            for number in sorted(a.keys() & b.keys() & first.keys() & second.keys())
            if first[number][0] == second[number][0]
        ]
        if len(shared) < MINIMUM_ROUNDS:
            return pair_rounds(a, b, name, resolution)
        a, b = ({n: side[n] for n in shared} for side in (a, b))
        if name != "p50":
            return pair_rounds(a, b, name, resolution)
        for n in shared:
            if ratio := ratio_in_turns(first[n][1], second[n][1]):
                b[n] = a[n] * ratio
        states = ratios_by_state(*([side[n][1] for n in shared] for side in (first, second)))
        return replace(pair_rounds(a, b, name, resolution), states=states)


@dataclass(frozen=True, slots=True)
class UncomparedCase:
    """A case that both sides planned and that has no verdict.

    `reason` is a code: the status of the row that stands in the way, or one of `OTHER_CLOCK`,
    `OTHER_CALL`, `NO_PERCENTILE`, `NO_RUNS` and `NOT_VALID`; `detail` is a sentence. `is_lost`: of
    two runs, the first measured the case and the second did not.
    """

    case_id: str
    label: str
    reason: str
    detail: str
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Pairing:
    """What is compared, and the cases that can't be."""

    pairs: tuple[Pair, ...] = ()
    not_compared: tuple[UncomparedCase, ...] = ()


def pairing_of(
    candidates: Iterable[Pair],
    obstacle: Callable[[Pair], tuple[str, str]],
    is_lost: Callable[[Pair], bool] = lambda pair: False,
) -> Pairing:
    """The pairs without an obstacle, which is a code and a sentence."""
    pairs: list[Pair] = []
    not_compared: list[UncomparedCase] = []
    for pair in candidates:
        reason, detail = obstacle(pair)
        if reason:
            case_id = pair.second.case.case_id
            not_compared.append(UncomparedCase(case_id, pair.label, reason, detail, is_lost(pair)))
        else:
            pairs.append(pair)
    return Pairing(tuple(pairs), tuple(not_compared))


OTHER_CLOCK, OTHER_CALL, NO_PERCENTILE = "other_clock", "other_call", "no_percentile"
"""Reasons: clocks, or loops, that are not mixed, no percentile that both sides have."""
NO_RUNS, NOT_VALID = "no_runs", "not_valid"
"""Reasons: a row that is `ok` without runs, and one whose measurement broke its protocol."""


def ending_reason(side: MeasuredCase) -> tuple[str, str]:
    """How a case ended that can't be compared, as a code and as a sentence."""
    status, reason = str(side.row["status"]), side.row["reason"]
    if status == "ok" and side.row["valid"] is False:
        return NOT_VALID, f"not valid: {reason or 'the measurement broke its own protocol'}"
    if status == "ok" and side.summary is None:
        return NO_RUNS, f"{status}: {reason or 'no run was measured'}"
    return status, f"{status}: {reason or 'not measured'}"


def timing_obstacle(pair: Pair) -> tuple[str, str]:
    """The same for what was timed otherwise on the two sides: by another clock, or by another loop.

    The loop in Python adds about a microsecond to a run. Where cases of one runtime differ in their
    options, these are what is compared, whatever loops they choose.
    """
    sides = (pair.first, pair.second)
    first, second = (side.row["clock"] for side in sides)
    if first != second:
        return OTHER_CLOCK, f"the clock is {second}, the baseline's {first}"
    calls = [str(side.row.get("call_path") or "") for side in sides]
    loops = [call.rpartition(TIMED_IN)[2] for call in calls]
    runtimes, options = zip(
        *((side.case.runtime, side.case.options) for side in sides), strict=True
    )
    is_asked_for = runtimes[0] == runtimes[1] and options[0] != options[1]
    if not all(calls) or loops[0] == loops[1] or is_asked_for:
        return "", ""
    name = parse_spec(runtimes[loops.index("C")]).name if "C" in loops else ""
    has_choice = name in registry.names() and CALL in options_of(name)
    advice = f"set --option {name}.{CALL.name}=python" if has_choice else "no option changes that"
    return OTHER_CALL, f"it was {calls[1]}, the baseline {calls[0]}: {advice}"


def _times(side: MeasuredCase, name: str) -> Mapping[int, float]:
    """The rounds' own figures, of which less is better: of a rate the time that an input takes."""
    figures = side.by_round(name)
    if name not in HIGHER_IS_BETTER:
        return figures
    return {number: 1.0 / rate for number, rate in figures.items() if rate > 0.0}
