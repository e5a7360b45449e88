"""Whether the machine's speed changed between passes, seen by cases that were slow together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.results.measured import Measured
from app.results.noticing.notice import Notice
from app.stats.concordance import LEAST_ROUNDS, concordance

_P50 = "p50"


def moving_machine(measured: Sequence[Measured]) -> Iterator[Notice]:
    """A sentence for the cases of each turn whose rounds' p50 rise and fall together.

    Verdicts between such cases come from pairs of rounds and are not affected; the interval of each
    case holds for the states that the machine was in.
    """
    turns: dict[str, dict[str, Mapping[int, float]]] = {}
    for one in measured:
        if one.turn and one.row.get("clock") == "wall":
            by_round = one.by_round(_P50)
            if len(by_round) >= LEAST_ROUNDS:
                turns.setdefault(one.turn, {})[one.case.case_id] = by_round
    for cases in turns.values():
        passes = sorted(set.intersection(*map(set, cases.values())))
        found = concordance([[by_round[n] for n in passes] for by_round in cases.values()])
        if found is None or not found.is_significant:
            continue
        what = f"{len(cases)} cases were slow in the same passes"
        sentence = (
            f"{what} (concordance {found.coefficient:.2f}): the speed of the machine changed, "
            "which a longer --spread shows more of; comparisons within the run are not affected"
        )
        yield Notice("machine_moves", sentence, tuple(cases), "boxes", what)
