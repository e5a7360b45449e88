"""How a case ended: its rounds -> status, reason, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.cases.column import Row
from app.cases.round import RoundResult
from app.cases.status import WORST_FIRST
from app.results.plain import one_line
from app.results.warned import joined

UNFINISHED = "rounds were measured: --resume the run"
"""What is warned of a case that has fewer than were planned; while a run goes on it is no fault."""
NOT_REACHED = "the sweep ended before this case was measured: --resume it"


def worst(rounds: Iterable[RoundResult]) -> RoundResult | None:
    """The round whose status decides the row's; None without rounds."""
    return min(rounds, key=lambda result: WORST_FIRST.index(result.status), default=None)


def ended_columns(rounds: Sequence[RoundResult], planned: int, damaged: Mapping[int, str]) -> Row:
    """Status, reason and warnings; a case that never came to a round was cancelled.

    So many rounds were `planned`; `damaged` says of some by number what became of their samples.
    """
    decisive = worst(rounds)
    warnings = [
        f"the samples of round {number + 1} do not count, since their file {what}: --resume the run"
        for number, what in damaged.items()
    ]
    if decisive is None:
        reason = "; ".join(warnings) or NOT_REACHED
        return {"status": "cancelled", "reason": one_line(reason)}
    timed = [result for result in rounds if result.samples]
    warnings += [warning for result in rounds for warning in result.warnings]
    if decisive.status in ("ok", "partial") and len(rounds) < planned:
        warnings.append(f"{len(rounds)} of {planned} {UNFINISHED}")
    return {
        "status": decisive.status,
        "valid": all(result.valid for result in timed) if timed else None,
        "reason": one_line(decisive.reason) or None,
        "warnings": joined(map(one_line, warnings)),
    }
