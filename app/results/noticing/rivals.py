"""Which runtime or option is much the best where all else is alike, and where none can be told.

`app/results/fastest.py` judges every such set by pairs of rounds; what is worth a look repeats its
verdicts and makes none of its own, so that no two sentences about a run contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.results.fastest import Fastest
from app.results.noticing.facts import Fact
from app.results.noticing.notice import Found, Notice, told
from app.results.together import Together
from app.stats.between import LEAST_ROUNDS

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
    sentence = f"{who} can't be told apart, their pairs of rounds leave it undecided"
    yield Notice("not_told_apart", sentence, ids, "boxes", f"{briefly} can't be told apart")
