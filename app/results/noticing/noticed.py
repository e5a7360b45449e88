"""What to look at in a run: at most five sentences by rules over its rows, the same everywhere.

What single cases do comes first, since it says what their figures mean; then what settings and
runtimes did. Which runtime is the fastest is judged where its table is, by pairs of rounds, and
those verdicts are used; everything else needs rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from app.cases.verdict import BAND
from app.results.fastest import Fastest, fastest
from app.results.measured import Measured
from app.results.noticing.facts import Fact, facts
from app.results.noticing.machine import moving_machine
from app.results.noticing.notice import Notice
from app.results.noticing.rivals import much_the_best, not_told_apart
from app.results.noticing.settings import (
    batches_without_gain,
    narrow_but_slow,
    settings_without_effect,
    threads_that_cost,
)
from app.results.noticing.shape import bimodal, far_tail, slowing, stalling
from app.results.together import Together

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
