"""What settings do to cases that are alike in all else: they cost, gain nothing or change nothing.

Said only where 95 % intervals bound it, so of cases with three rounds or more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby

from app.results import text
from app.results.fastest import Fastest
from app.results.noticing.facts import Fact, alike_but, surely_times
from app.results.noticing.notice import Found, Notice, told
from app.results.together import Together

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
