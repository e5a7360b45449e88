"""What a run is compared with once it has ended: a baseline, a stored run, or itself."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.cases.errors import PlanError
from app.console import itself, verdicts
from app.console.verdicts import Wanted, wanted_of
from app.plan.plan import Plan
from app.results.baseline import against_baseline
from app.results.compare import RunSide, compare_runs, side_of
from app.results.itself import ComparedWithItself, with_itself
from app.results.measured import Measured
from app.results.reader import read_run
from app.results.run import Run
from app.results.verdicts import Comparison
from app.stats.between import LEAST_ROUNDS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a comparison came to: lines under a heading, Markdown, an exit code, files by path."""

    heading: str
    lines: tuple[str, ...]
    files: Mapping[str, str]
    code: int = 0
    markdown: str = ""


@dataclass(frozen=True, slots=True)
class Comparing:
    """`stored` is the run to compare with; without one it is the plan's own baseline, if any."""

    wanted: Wanted = field(default_factory=Wanted)
    stored: RunSide | None = None

    def of(self, run: Run, measured: Sequence[Measured]) -> Outcome | None:
        """What is to be told of a run that has ended; None where nothing was to be compared."""
        plan, where = run.manifest.asked, str(run.path)
        if plan.aa is not None:
            return self._with_itself(with_itself(run, measured), run.path)
        if self.stored is not None:
            side = side_of(run, measured)
            return self._outcome(compare_runs(self.stored, side, plan.band))
        found = against_baseline(plan, measured, where)
        return None if found is None else self._outcome(found)

    def _outcome(self, found: Comparison) -> Outcome:
        design = ", round by round" if found.in_turn else ""
        return Outcome(
            f"against {found.first}{design}",
            tuple(verdicts.as_lines(found)),
            verdicts.files(found, self.wanted),
            verdicts.code(found, self.wanted.fail_on_slower),
            "\n".join(verdicts.as_markdown(found)) + "\n" if self.wanted.markdown else "",
        )

    def _with_itself(self, found: ComparedWithItself, folder: Path) -> Outcome:
        files = {str(folder / itself.FILE): itself.as_csv(found)}
        if self.wanted.json_path:
            files[self.wanted.json_path] = verdicts.json_text(itself.as_json(found))
        heading = f"each case with itself, {found.rounds} rounds a side"
        return Outcome(heading, tuple(itself.as_lines(found)), files)


def comparing_of(flags: argparse.Namespace, plan: Plan) -> Comparing:
    """What the flags and the plan ask for; PlanError or ResultsError before anything is written."""
    if flags.baseline_run is not None and (plan.baseline or plan.aa):
        raise PlanError(
            "the plan compares already, with a baseline or by aa, and --baseline-run is another",
            "give one of them",
        )
    if flags.baseline_run is None and not plan.baseline:
        told = () if plan.check else ("markdown",)
        for name in ("fail_on", *told, "junit", *(() if plan.aa else ("band", "json"))):
            if getattr(flags, name):
                raise PlanError(
                    f"--{name.replace('_', '-')} belongs to a comparison, and none is asked for",
                    "add --baseline or --baseline-run",
                )
    if plan.aa and plan.lengths.rounds < 2 * plan.aa * LEAST_ROUNDS:
        raise PlanError(
            "so few rounds a side decide nothing, and --aa would tell nothing",
            f"give --rounds {LEAST_ROUNDS} or more",
        )
    stored = None if flags.baseline_run is None else side_of(read_run(Path(flags.baseline_run)))
    if stored is not None and not any(one.summary for one in stored.cases):
        raise PlanError(f"nothing was measured in {stored.name}", "name a run that has rows")
    return Comparing(wanted_of(flags), stored)
