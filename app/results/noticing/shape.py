"""What the samples of single cases do: jump, stall at a beat, have a far tail, slow down.

Where a round recorded that something else had the core, the machine is named and not the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.results import text
from app.results.noticing.disturbed import disturbance
from app.results.noticing.facts import Fact
from app.results.noticing.notice import Found, Notice, told
from app.results.together import Together

_FAR_TAIL = 10.0
_SLOWED = re.compile(r"slowed down by up to (\d+)% in (\d+) of (\d+) rounds")
_OF_THE_MACHINE = "the cause may be the machine and not the model, measure again when it is idle"
_LEAST_SLOWED = 5.0
"""Percent: less is told in the column and warned of, but is no story."""


def bimodal(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    cases = []
    for one in found:
        low, high = one.number("mode_low_us"), one.number("mode_high_us")
        if low and high:
            share = text.share(one.number("mode_high_fraction"))
            levels = f"{text.latency(low)} and {text.latency(high)}"
            what = f"bimodal, {levels}, {share} of the runs at the upper level"
            cases.append((Found(one.case_id, high / low, what), disturbance(one)))
    yield from _told("bimodal", "histogram", cases, together, "bimodal")


def stalling(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    cases = []
    for one in found:
        stall, period = one.number("stall_us"), one.number("stall_period_us")
        share = one.number("stall_fraction")
        if stall and period and share is not None:
            every = f"stalls of {text.latency(stall)} every {text.latency(period)}"
            what = f"{every}, {text.share(share)} of the time"
            cases.append((Found(one.case_id, share, what), disturbance(one, 1e6 / period)))
    yield from _told("stalls", "timeline", cases, together, "stalls at even distances")


def far_tail(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    """Of closed loops: requests that queue, and shapes that differ, have a tail by their nature."""
    cases = []
    for one in found:
        p99, scenario = one.number("latency_p99_us"), one.case.scenario
        natural = scenario.is_open_loop or one.case.condition.kind == "shapes"
        if p99 and p99 >= _FAR_TAIL * one.p50_us and not natural:
            times = text.significant(p99 / one.p50_us, 2)
            what = f"the slowest 1 % take {times} times the median, {text.latency(p99)} or more"
            cases.append((Found(one.case_id, p99 / one.p50_us, what), disturbance(one)))
    each = f"the slowest 1 % take {_FAR_TAIL:g} times the median or more"
    yield from _told("tail", "percentiles", cases, together, each)


def slowing(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    cases = []
    for one in found:
        told_of = _SLOWED.search(str(one.row.get("drift") or ""))
        percent, rounds, of = map(int, told_of.groups()) if told_of else (0, 0, 0)
        if percent >= _LEAST_SLOWED and 2 * rounds > of:
            what = f"slows down by up to {percent} % within {rounds} of {of} rounds"
            cases.append((Found(one.case_id, float(percent), what), disturbance(one)))
    yield from _told("slowing", "timeline", cases, together, "slow down within most rounds")


def _told(
    kind: str,
    view: str,
    cases: Sequence[tuple[Found, str]],
    together: Together,
    each: str,
) -> Iterator[Notice]:
    """A sentence for the cases that nothing disturbed, and one for those that something did."""
    yield from told(kind, view, [one for one, why in cases if not why], together, each)
    disturbed = [
        replace(one, what=f"{one.what}, while {why}: {_OF_THE_MACHINE}")
        for one, why in cases
        if why
    ]
    yield from told(kind, view, disturbed, together, f"{each} on a disturbed machine")
