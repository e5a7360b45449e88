"""What a run is compared with once it has ended: its own baseline, or a run that is stored."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.cases.errors import PlanError
from app.console.verdicts import SLOWER, Wanted, code, wanted_of
from app.plan.plan import Plan
from app.results.baseline import against_baseline
from app.results.compare import RunSide, compare_runs, side_of
from app.results.measured import Measured
from app.results.reader import read_run
from app.results.run import Run
from app.results.verdicts import Comparison


@dataclass(frozen=True, slots=True)
class Comparing:
    """`stored` is the run to compare with; without one it is the plan's own baseline, if any."""

    wanted: Wanted = field(default_factory=Wanted)
    stored: RunSide | None = None

    def of(self, run: Run, measured: Sequence[Measured]) -> Comparison | None:
        """The verdicts on a run that has ended; None where nothing was to be compared."""
        plan = run.manifest.asked
        if self.stored is None:
            return against_baseline(plan, measured, str(run.path))
        here = RunSide(str(run.path), tuple(measured), run.manifest.environment)
        return compare_runs(self.stored, here, plan.band)

    def code(self, found: Comparison) -> int:
        """What the verdicts make of the exit code.

        What a run could not compare with its own baseline, its rows tell.
        """
        if not found.in_turn:
            return code(found, self.wanted.fail_on_slower)
        return SLOWER if self.wanted.fail_on_slower and found.called("slower") else 0


def comparing_of(flags: argparse.Namespace, plan: Plan) -> Comparing:
    """What the flags and the plan ask for; PlanError or ResultsError before anything is written."""
    if flags.baseline_run is not None and plan.baseline:
        raise PlanError(
            f"--baseline-run and the baseline {plan.baseline!r} are two comparisons",
            "give one of them",
        )
    if flags.baseline_run is None and not plan.baseline:
        for name in ("band", "fail_on", "markdown", "json", "junit"):
            if getattr(flags, name):
                raise PlanError(
                    f"--{name.replace('_', '-')} belongs to a comparison, and none is asked for",
                    "add --baseline or --baseline-run",
                )
    stored = None if flags.baseline_run is None else side_of(read_run(Path(flags.baseline_run)))
    if stored is not None and not any(one.summary for one in stored.cases):
        raise PlanError(f"nothing was measured in {stored.name}", "name a run that has rows")
    return Comparing(wanted_of(flags), stored)
