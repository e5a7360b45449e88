"""The rules of insights: at most five sentences about a run, the same everywhere.

Which runtime is the fastest is judged by pairs of rounds (`app/comparison/ranking.py`); the
rules
repeat its verdicts and make none of their own, so that no two sentences about a run contradict
each other.

What settings do is stated only where 95 % intervals bound it, so of cases with three rounds or
more.

Where a round recorded that something else had the core, the machine is named and not the model.

What single cases do comes first, since it says what their figures mean; then what settings and
runtimes did.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from app.cases.objectives import BAND
from app.comparison.measured_case import Measured
from app.comparison.ranking import Fastest, fastest
from app.formatting import text
from app.formatting.case_labels import Together
from app.insights.insight import (
    Fact,
    Found,
    Notice,
    alike_but,
    disturbance,
    facts,
    surely_times,
    told,
)
from app.insights.machine import moving_machine
from app.stats.intervals import LEAST_ROUNDS

_MUCH = 1.5
_MOST_NAMED = 3


def much_the_best(
    found: Sequence[Fact], together: Together, contests: Sequence[Fastest]
) -> Iterator[Notice]:
    known = {one.case_id for one in found}
    cases = [
        Found(
            one.case_ids[0],
            one.times,
            f"{one.times:.2f} times as fast as the next, {one.second}",
            one.slower,
        )
        for one in contests
        if one.parted and one.margin >= _MUCH and known.issuperset(one.case_ids)
    ]
    each = f"at least {_MUCH:g} times as fast as any other"
    yield from told("best", "matrix", cases, together, each)


def not_told_apart(
    found: Sequence[Fact], together: Together, contests: Sequence[Fastest]
) -> Iterator[Notice]:
    """The best two of a set, where enough rounds of both leave their verdict undecided."""
    known = {one.case_id for one in found}
    undecided = [
        one
        for one in contests
        if one.verdict.word == "undecided"
        and one.rounds >= LEAST_ROUNDS
        and known.issuperset(one.case_ids)
    ]
    if not undecided:
        return
    first = undecided[0]
    who = briefly = f"{first.what}: {first.first} and {first.second}"
    if len(undecided) > 1:
        more = f" and {len(undecided) - _MOST_NAMED} more" if len(undecided) > _MOST_NAMED else ""
        which = ", ".join(one.what for one in undecided[:_MOST_NAMED])
        who = f"{which}{more}: the two fastest"
        briefly = f"of {len(undecided):,} the two fastest"
    ids = tuple(case_id for one in undecided for case_id in one.case_ids)
    sentence = f"{who} can't be distinguished: their pairs of rounds are undecided"
    yield Notice("not_told_apart", sentence, ids, "boxes", f"{briefly} can't be distinguished")


_WIDTHS = {"fp32": 32, "tf32": 19, "bf16": 16, "fp16": 16, "int8": 8}
_LEAST_TIMES = 1.05
_LITTLE = 0.05
"""A gain or a change that is surely below this share is none."""


def narrow_but_slow(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    def wider(one: Fact) -> float:
        return float(_WIDTHS.get(str(one.row.get("precision")), 0))

    cases = []
    for slow, fast, times in _dearer(alike_but(found, "precision"), wider):
        what = f"{times:.2f} times as slow as in {fast.row['precision']}"
        cases.append(Found(slow.case_id, times, what, (fast.case_id,)))
    yield from told("precision", "boxes", cases, together, "slower than a wider precision")


def threads_that_cost(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    def fewer(one: Fact) -> float:
        return -float(one.case.threads) if one.case.threads else 0.0

    cases = []
    for slow, fast, times in _dearer(alike_but(found, "threads"), fewer):
        what = f"{times:.2f} times as slow as on {fast.case.threads}"
        cases.append(Found(slow.case_id, times, what, (fast.case_id,)))
    yield from told("threads", "boxes", cases, together, "slower than with fewer threads")


def _dearer(
    groups: Sequence[Sequence[Fact]], order: Callable[[Fact], float]
) -> Iterator[tuple[Fact, Fact, float]]:
    """Of each case that is slower than one that comes before it in this order: it, the fastest of
    those, and the ratio of their medians. An order of 0 is not known."""
    for group in groups:
        known = [one for one in group if order(one)]
        fastest = _fastest_before(known, order)
        for slow in known:
            fast = fastest[slow.case_id]
            if fast is not None and surely_times(slow, fast) >= _LEAST_TIMES:
                yield slow, fast, slow.p50_us / fast.p50_us


def _fastest_before(
    known: Sequence[Fact], order: Callable[[Fact], float]
) -> dict[str, Fact | None]:
    """By case the fastest of those that come before it; those that stand equal are passed over.

    Walked through once in that order: a sweep may have thousands in one group.
    """
    found: dict[str, Fact | None] = {}
    fastest: Fact | None = None
    for _, equal in groupby(sorted(known, key=order, reverse=True), key=order):
        level = [*equal]
        found |= {one.case_id: fastest for one in level}
        fastest = min([*filter(None, [fastest]), *level], key=lambda one: one.p50_us)
    return found


def batches_without_gain(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    """The smallest batch size of each line beyond which none gives more inputs a second."""
    cases = []
    for line in _by_batch(found):
        for place, (size, one) in enumerate(line[:-1]):
            gains = [_gain_at_most(size, one, *larger) for larger in line[place + 1 :]]
            if max(gains) <= _LITTLE:
                last = line[-1][0]
                more = text.share(max(0.0, *gains))
                beyond = f"gains nothing beyond batch {size}"
                what = f"{beyond}: at most {more} more inputs/s up to {last}"
                others = tuple(other.case_id for _, other in line if other is not one)
                cases.append(Found(one.case_id, last / size, what, others))
                break
    yield from told("batch", "trends", cases, together, "larger batches gain nothing")


def _gain_at_most(size: int, one: Fact, larger_size: int, larger: Fact) -> float:
    """By which share more inputs a second the larger batch gives at most, at the medians."""
    if one.interval_us is None or larger.interval_us is None:
        return float("inf")
    return (larger_size / larger.interval_us[0]) / (size / one.interval_us[1]) - 1.0


def _by_batch(found: Sequence[Fact]) -> Iterator[list[tuple[int, Fact]]]:
    """Cases that differ in their batch alone, by rising size."""
    axes = {
        model: _batch_axis([one for one in found if one.case.model == model])
        for model in dict.fromkeys(one.case.model for one in found)
    }
    lines: dict[object, list[tuple[int, Fact]]] = {}
    for group in alike_but(found, "axes"):
        for one in group:
            axis, size = axes[one.case.model], one.number("batch_size")
            rest = tuple(pair for pair in one.case.axes.items() if pair[0] != axis)
            if axis and size:
                lines.setdefault((id(group), rest), []).append((int(size), one))
    for line in lines.values():
        if len(line) > 1:
            yield sorted(line, key=lambda pair: pair[0])


def _batch_axis(of_model: Sequence[Fact]) -> str:
    """The size that is the batch in all cases of a model; "" where none is."""
    names = dict.fromkeys(name for one in of_model for name in one.case.axes)
    same = (
        n
        for n in names
        if all(one.case.axes.get(n) == one.number("batch_size") for one in of_model)
    )
    return next(same, "")


def settings_without_effect(
    found: Sequence[Fact], together: Together, contests: Sequence[Fastest]
) -> Iterator[Notice]:
    """Options, and the number of threads, that are varied and change no median.

    Nothing of a group of which pairs of rounds have found one case slower than another: they see
    less than the intervals of single cases do.
    """
    parted = {(one.case_ids[0], other) for one in contests for other in one.slower}
    for runtime in dict.fromkeys(one.case.runtime for one in found):
        own = [one for one in found if one.case.runtime == runtime]
        options = dict.fromkeys(name for one in own for name in one.options)
        varied = [n for n in options if len({one.options.get(n) for one in own}) > 1]
        groups = {name: alike_but(own, option=name) for name in varied}
        for name, compared in {**groups, "threads": alike_but(own, "threads")}.items():
            if any(_are_parted(group, parted) for group in compared):
                continue
            apart = max(map(_apart_at_most, compared), default=float("inf"))
            if apart <= _LITTLE:
                ids = tuple(one.case_id for group in compared for one in group)
                same = f"{name} changes nothing, p50 is the same within {text.share(apart)}"
                sentence, brief = f"{together.text(ids)}: {same}", f"{len(ids):,} cases: {same}"
                yield Notice("no_effect", sentence, ids, "boxes", brief)


def _are_parted(group: Sequence[Fact], parted: Collection[tuple[str, str]]) -> bool:
    ids = [one.case_id for one in group]
    return any((one, other) in parted for one in ids for other in ids)


def _apart_at_most(group: Sequence[Fact]) -> float:
    """By which share the medians of these differ at most."""
    known = [one.interval_us for one in group if one.interval_us is not None]
    if len(known) < len(group):
        return float("inf")
    return max(high for _, high in known) / min(low for low, _ in known) - 1.0


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


MOST = 5
_MOST_OF_SHAPE = 3
"""So that what settings did is heard of too, if there is something."""
HEADING = "findings"

Rule = Callable[[Sequence[Fact], Together], Iterator[Notice]]
ContestRule = Callable[[Sequence[Fact], Together, Sequence[Fastest]], Iterator[Notice]]
_OF_SHAPE: tuple[Rule, ...] = (bimodal, stalling, far_tail, slowing)
_OF_SETTINGS: tuple[Rule, ...] = (narrow_but_slow, threads_that_cost, batches_without_gain)
_OF_CONTESTS: tuple[ContestRule, ...] = (much_the_best, settings_without_effect, not_told_apart)


def noticed(
    measured: Iterable[Measured],
    together: Together | None = None,
    contests: Sequence[Fastest] | None = None,
) -> list[Notice]:
    """The sentences in the order in which to read them; none for a run that has nothing to say.

    `together` tells its cases and `contests` are what is the fastest of them, where somebody has
    those.
    """
    measured = list(measured)
    found, together = facts(measured), together or Together([one.case for one in measured])
    of_shape = [*moving_machine(measured)]
    of_shape += [notice for rule in _OF_SHAPE for notice in rule(found, together)]
    if contests is None:
        known = {one.case_id for one in found}
        of_rounds = [one for one in measured if one.summary is not None]
        contests = fastest([one for one in of_rounds if one.case.case_id in known], BAND)
    rest = [notice for rule in _OF_SETTINGS for notice in rule(found, together)]
    rest += [n for rule in _OF_CONTESTS for n in rule(found, together, contests)]
    rest = _one_of_each_first(rest)
    room = max(_MOST_OF_SHAPE, MOST - len(rest))
    return [*of_shape[:room], *rest][:MOST]


def _one_of_each_first(notices: Sequence[Notice]) -> list[Notice]:
    """The first of each kind, and after them the others of those that have several."""
    first = {notice.kind: notice for notice in reversed(notices)}
    return sorted(notices, key=lambda one: one is not first[one.kind])
