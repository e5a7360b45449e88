"""Which runtime or option is much the best where all else is alike, and where none can be told.

`app/results/fastest.py` judges every such set; this says what of it is worth a look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.results.alike import LIKE, Key, contender, names
from app.results.noticing.facts import Fact, surely_times
from app.results.noticing.notice import Found, Notice, told
from app.results.together import Together

_MUCH = 1.5
_MOST_NAMED = 3


def much_the_best(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    cases = []
    for best, *others in _contests(found).values():
        if all(surely_times(other, best) >= _MUCH for other in others):
            times = others[0].p50_us / best.p50_us
            what = f"{times:.2f} times as fast as the next, {contender(others[0].row)}"
            cases.append(Found(best.case_id, times, what, tuple(one.case_id for one in others)))
    each = f"at least {_MUCH:g} times as fast as any other"
    yield from told("best", "heatmap", cases, together, each)


def not_told_apart(found: Sequence[Fact], together: Together) -> Iterator[Notice]:
    """The best two of a set, where each has an interval and these overlap."""
    contests = _contests(found)
    undecided = {key: group[:2] for key, group in contests.items() if _overlap(*group[:2])}
    if not undecided:
        return
    called = names(list(contests))
    told_of = [called[key] for key in undecided]
    best, other = next(iter(undecided.values()))
    who = briefly = f"{told_of[0]}: {contender(best.row)} and {contender(other.row)}"
    if len(undecided) > 1:
        more = f" and {len(told_of) - _MOST_NAMED} more" if len(told_of) > _MOST_NAMED else ""
        which = ", ".join(told_of[:_MOST_NAMED])
        who = f"{which}{more}: the two fastest"
        briefly = f"of {len(told_of):,} the two fastest"
    ids = tuple(one.case_id for two in undecided.values() for one in two)
    sentence = f"{who} can't be told apart, their p50s' intervals overlap"
    yield Notice("not_told_apart", sentence, ids, "boxes", f"{briefly} can't be told apart")


def _contests(found: Sequence[Fact]) -> dict[Key, list[Fact]]:
    """Cases that differ in their runtime or its options alone, the fastest first."""
    groups: dict[Key, list[Fact]] = {}
    for one in found:
        groups.setdefault(tuple(one.row.get(name) for name in LIKE), []).append(one)
    return {
        key: sorted(group, key=lambda one: one.p50_us)
        for key, group in groups.items()
        if len(group) > 1
    }


def _overlap(best: Fact, other: Fact) -> bool:
    return bool(best.interval_us and other.interval_us) and surely_times(other, best) < 1.0
