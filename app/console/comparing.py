"""What a run is compared with once it has ended: a baseline, a stored run, or itself."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.cases.case import Case
from app.cases.errors import PlanError
from app.console import itself, verdicts
from app.console.damage import damage
from app.console.gate import code
from app.console.verdicts import Wanted, wanted_of
from app.machine.available import clock_of
from app.machine.environment import describe_host
from app.plan.baseline import baselines
from app.plan.plan import Plan
from app.present.document import Block, Heading, Points
from app.results.baseline import against_baseline
from app.results.compare import RunSide, compare_runs, side_of
from app.results.hosts import are_placed, the_same
from app.results.itself import ComparedWithItself, with_itself
from app.results.measured import Measured
from app.results.past_variation import history_for
from app.results.run import Run
from app.results.text import duration
from app.results.verdicts import Comparison
from app.results.verify import read_whole
from app.stats.between import LEAST_ROUNDS


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a comparison: blocks, Markdown, an exit code, files by path."""

    blocks: tuple[Block, ...]
    files: Mapping[str, str]
    code: int = 0
    markdown: str = ""


@dataclass(frozen=True, slots=True)
class Comparing:
    """`stored` is the run to compare with; without one it is the plan's own baseline, if any.
    `damaged` has a sentence for each thing in the stored run that could not be read; `history` is a
    folder of earlier runs of the machine, where one was named."""

    wanted: Wanted = field(default_factory=Wanted)
    stored: RunSide | None = None
    damaged: tuple[str, ...] = ()
    history: Path | None = None

    def of(self, run: Run, measured: Sequence[Measured]) -> Outcome | None:
        """What is to be told of a run that has ended; None where nothing was to be compared."""
        plan, where = run.manifest.asked, str(run.path)
        if plan.aa is not None:
            return self._with_itself(with_itself(run, measured), run.path)
        if self.stored is not None:
            side = side_of(run, measured)
            paths = [Path(self.stored.name), run.path]
            history = history_for(paths, [(run, measured)], self.history)
            found = compare_runs(self.stored, side, plan.band, history)
            return self._outcome(replace(found, damaged=self.damaged))
        against = against_baseline(plan, measured, where)
        return None if against is None else self._outcome(against)

    def refuse_useless(self, plan: Plan, cases: Sequence[Case], resumed: bool = False) -> None:
        """PlanError for a comparison that would come to nothing, and for a gate that could never
        find anything slower, before anything is measured. A run that is resumed has rounds
        already, which no budget bounds."""
        if self.stored is not None:
            self._refuse_unlike(self.stored, plan, cases)
        if not self.wanted.fail_on_slower:
            return
        rounds = 1 if plan.largest_batch else plan.lengths.rounds
        if rounds < LEAST_ROUNDS:
            raise PlanError(
                f"--fail-on slower: a verdict needs {LEAST_ROUNDS} rounds of each case, and the "
                f"plan has {rounds}",
                f"give --rounds {LEAST_ROUNDS} or more"
                if not plan.largest_batch
                else "leave out --fail-on or the search for the largest batch",
            )
        pairs = baselines(plan.baseline, cases) if plan.baseline else {}
        clocks = {case.case_id: clock_of(case.runtime) for case in cases}
        if pairs and all(clocks[case_id] != clocks[one.case_id] for case_id, one in pairs.items()):
            raise PlanError(
                f"--fail-on slower: no case has the clock of its baseline {plan.baseline!r}, and "
                "clocks are not mixed",
                "give a runtime of the same clock",
            )
        budget_s = None if resumed else plan.budget_s
        if budget_s is not None and not plan.cluster and not plan.is_search:
            least_s = plan.lengths.limits.min_s * (LEAST_ROUNDS * len(cases) - 1)
            if budget_s < least_s:
                raise PlanError(
                    f"--fail-on slower: a verdict needs {LEAST_ROUNDS} rounds of each case, which "
                    f"take more than the budget of {duration(budget_s)}",
                    f"give --budget {duration(math.ceil(least_s))} or more, or fewer cases",
                )

    def _refuse_unlike(self, stored: RunSide, plan: Plan, cases: Sequence[Case]) -> None:
        """For a stored run that has no case of this plan, no percentile of it, or, for a gate, too
        few rounds. What a search will try is not known yet, nor which host a case will be on."""
        if not set(stored.percentiles) & set(plan.percentiles):
            raise PlanError(
                f"{stored.name} has none of the percentiles of this plan",
                "give the same --percentiles, or none",
            )
        placed = are_placed(one.case for one in stored.cases)
        if plan.is_search or (placed and plan.cluster and not plan.per_host):
            return
        host = describe_host()["host"]
        same = the_same([(case, case.host or host) for case in cases])
        common = [one for one in stored.cases if same(one.case, one.row.get("host"))]
        if not common:
            raise PlanError(
                f"{stored.name} and this plan have no case in common",
                "name a run of the same models, runtimes and settings",
            )
        if self.wanted.fail_on_slower and all(len(o.rounds) < LEAST_ROUNDS for o in common):
            raise PlanError(
                f"--fail-on slower: a verdict needs {LEAST_ROUNDS} rounds of each case, and "
                f"{stored.name} has fewer of every case of this plan",
                "name a run with more rounds",
            )

    def _outcome(self, found: Comparison) -> Outcome:
        design = ", round by round" if found.in_turn else ""
        gated = self.wanted.fail_on_slower
        return Outcome(
            (
                Heading(f"against {found.first}{design}"),
                *verdicts.comparison_blocks(found, gated),
            ),
            verdicts.files(found, self.wanted),
            code(found, gated),
            verdicts.as_markdown(found, gated) if self.wanted.markdown else "",
        )

    def _with_itself(self, found: ComparedWithItself, folder: Path) -> Outcome:
        files = {str(folder / itself.FILE): itself.as_csv(found)}
        if self.wanted.json_path:
            files[self.wanted.json_path] = verdicts.json_text(itself.as_json(found))
        heading = f"each case with itself, {found.rounds} rounds a side"
        blocks = (Heading(heading), Points(tuple(itself.as_lines(found))))
        return Outcome(blocks, files)


def comparing_of(flags: argparse.Namespace, plan: Plan) -> Comparing:
    """What the flags and the plan ask for; PlanError or ResultsError before anything is written."""
    if flags.baseline_run is not None and (plan.baseline or plan.aa):
        raise PlanError(
            "the plan compares already, with a baseline or by aa, and --against is another",
            "give one of them",
        )
    if flags.baseline_run is None and not plan.baseline:
        for name in ("fail_on", "junit", *(() if plan.aa else ("band", "judge", "json"))):
            if getattr(flags, name):
                raise PlanError(
                    f"--{name.replace('_', '-')} belongs to a comparison, and none is asked for",
                    "add --baseline or --against",
                )
    if flags.history is not None and flags.baseline_run is None:
        raise PlanError(
            "--history: it shows how far two runs of the machine differ, and this run is compared "
            "with no other",
            "Add --against or leave out --history",
        )
    compares = flags.baseline_run is not None or plan.baseline
    if compares and flags.format == "markdown" and flags.sort is not None:
        raise PlanError(
            "--sort has no effect: -f markdown prints the comparison and no rows",
            "Leave out --sort or -f markdown",
        )
    if plan.aa and plan.lengths.rounds < 2 * plan.aa * LEAST_ROUNDS:
        raise PlanError(
            "so few rounds a side decide nothing, and --aa would tell nothing",
            f"give --rounds {LEAST_ROUNDS} or more",
        )
    if flags.baseline_run is None:
        return Comparing(wanted_of(flags))
    whole = read_whole(Path(flags.baseline_run))
    stored = side_of(whole.run)
    if not any(one.summary for one in stored.cases):
        raise PlanError(f"nothing was measured in {stored.name}", "name a run that has rows")
    history = None if flags.history is None else Path(flags.history)
    if history is not None:
        history_for((), named=history)  # refused before anything is measured
    return Comparing(wanted_of(flags), stored, damage([whole]), history)
