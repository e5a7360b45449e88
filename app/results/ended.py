"""How a case ended: its rounds -> status, reason, diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.cases.column import Row
from app.cases.round import RoundResult
from app.cases.status import WORST_FIRST
from app.results.diagnostic_columns import text
from app.results.plain import one_line
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic

MISSING = "rounds_missing"
"""No fault while a run goes on."""
NOT_REACHED = "the sweep ended before this case was measured: resume it"


def worst(rounds: Iterable[RoundResult]) -> RoundResult | None:
    """The round whose status decides the row's; None without rounds."""
    return min(rounds, key=lambda result: WORST_FIRST.index(result.status), default=None)


def ended_columns(rounds: Sequence[RoundResult], damaged: Mapping[int, str]) -> Row:
    """Status and reason; a case without a round was not run.

    `damaged` says of some rounds by number what became of their samples.
    """
    decisive = worst(rounds)
    if decisive is None:
        reason = " ".join(text(one) for one in damaged_warnings(damaged)) or NOT_REACHED
        return {"status": "not_run", "reason": one_line(reason)}
    timed = [result for result in rounds if result.samples]
    return {
        "status": decisive.status,
        "valid": all(result.valid for result in timed) if timed else None,
        "reason": one_line(decisive.reason) or None,
    }


def damaged_warnings(damaged: Mapping[int, str]) -> list[Diagnostic]:
    """A diagnostic for each round whose samples do not count."""
    return [
        diagnostic("samples_damaged", round=number + 1, damage=what)
        for number, what in damaged.items()
    ]


def round_warnings(
    rounds: Sequence[RoundResult], planned: int, damaged: Mapping[int, str]
) -> Iterator[Diagnostic]:
    """What the rounds of a case recorded, and which of the `planned` are missing."""
    yield from damaged_warnings(damaged)
    for result in rounds:
        yield from result.warnings
    decisive = worst(rounds)
    if decisive is not None and decisive.status in ("ok", "partial") and len(rounds) < planned:
        yield diagnostic(MISSING, measured=len(rounds), planned=planned)
