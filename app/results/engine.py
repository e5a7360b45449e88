"""Which engine the rounds of a case really loaded, as they read it back."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import RoundResult
from app.results.cells import joined
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.environment import environment_of


def engine_columns(case: Case, rounds: Sequence[RoundResult]) -> Row:
    """What differed between rounds, as after an installation before `--resume`, is told by each."""
    return {
        "environment": environment_of(case.runtime) or None,
        "engine_distribution": joined(result.engine_distribution for result in rounds),
        "engine_path": joined(result.engine_path for result in rounds),
    }


def engine_warnings(rounds: Sequence[RoundResult]) -> list[Diagnostic]:
    """Rounds of several releases of the engine."""
    releases = dict.fromkeys(one.runtime_version for one in rounds if one.samples)
    if len(releases) < 2:
        return []
    return [diagnostic("engine_changed", releases=tuple(releases))]
