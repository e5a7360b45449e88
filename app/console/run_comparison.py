"""Comparisons of runs: with a baseline, a stored run or itself, and `graphlap compare A B`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.objectives import figures_judged
from app.cases.round import is_imported
from app.columns.reference_cases import against_baseline
from app.comparison.aa_test import ALL, ComparedWithItself, Itself, with_itself
from app.comparison.judge import Comparison
from app.comparison.measured_case import Measured
from app.console import verdicts
from app.console.regression_gate import code
from app.console.verdicts import Wanted, wanted_of
from app.console.verify import damage
from app.formatting.text import duration
from app.history.run_comparison import RunSide, compare_runs, history_for, side_of
from app.machine.environment import describe_host
from app.machine.installed_runtimes import clock_of
from app.plan.plan import Plan
from app.plan.reference_cases import baselines
from app.present.document import Block, Heading, Points
from app.run_folder.hosts import are_placed, the_same
from app.run_folder.run import Run
from app.run_folder.table import to_csv
from app.runs.verify import Whole, read_whole
from app.stats.intervals import LEAST_ROUNDS
from exporters.types import InvalidValue

FILE = "aa.csv"


def as_lines(found: ComparedWithItself) -> Iterator[str]:
    """A line for each case, and one for all of them."""
    by_case: dict[str, list[Itself]] = {}
    for one in found.cases:
        by_case.setdefault(one.label, []).append(one)
    for label, own in by_case.items():
        yield f"{label}: {'; '.join(map(_told, own))}"
    complete = found.together[0].comparisons
    if complete < found.total:
        yield f"{complete} of {found.total} comparisons have all their rounds: resume the run"
    if by_case:
        yield f"all cases: {'; '.join(map(_told, found.together))}"
        yield (
            "wrong: a verdict of faster or slower, all verdicts of a comparison judged together; "
            f"a change within {100 * found.band:g}% does not count"
        )


def as_csv(found: ComparedWithItself) -> str:
    """A row for each case and percentile, then for all cases; shares are between 0 and 1."""
    rows = [_values(one, found.rounds) for one in (*found.cases, *found.together)]
    return to_csv(rows, list(rows[0])).decode()


def as_json(found: ComparedWithItself) -> dict[str, Any]:
    """Stable keys: what is added later is a new key."""
    return {
        "format": "graphlap-aa",
        "version": 1,
        "rounds": found.rounds,
        "comparisons_asked": found.total,
        "band": found.band,
        "cases": [_values(one, found.rounds) for one in found.cases],
        "together": [_values(one, found.rounds) for one in found.together],
    }


def _values(one: Itself, rounds: int) -> dict[str, Any]:
    return {
        "case_id": one.case_id,
        "case": one.label,
        "percentile": one.percentile,
        "comparisons": one.comparisons,
        "wrong": one.wrong,
        "wrong_share_ci_low": one.share.low,
        "wrong_share_ci_high": one.share.high,
        "rounds": rounds,
        "smallest_change": one.smallest_change,
    }


def _told(one: Itself) -> str:
    name = "any" if one.percentile == ALL else one.percentile
    share = f"{100 * one.share.low:.2g} to {100 * one.share.high:.2g}%"
    wrong = f"{name} wrong in {one.wrong} of {one.comparisons} ({share})"
    if one.smallest_change is None or one.percentile == ALL:
        return wrong
    return f"{wrong}, would find a change of {one.smallest_change:.1%}"


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
                f"{stored.name} lacks the percentiles of this plan",
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
        files = {str(folder / FILE): as_csv(found)}
        if self.wanted.json_path:
            files[self.wanted.json_path] = verdicts.json_text(as_json(found))
        heading = f"each case with itself, {found.rounds} rounds a side"
        blocks = (Heading(heading), Points(tuple(as_lines(found))))
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
            "with so few rounds a side, --aa decides nothing",
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


def compare(
    first: str, second: str, *, band: float, past: str | None = None, judge: Sequence[str] = ()
) -> Comparison:
    """The verdicts on two run folders; ResultsError for a folder that is none.

    `past` is a folder of earlier runs of the machine; without one, those beside the two are read.
    `judge` are the figures to judge, as `--metrics` names them; PlanError for one that neither run
    has, and for two runs without a common case.
    """
    paths = [Path(first), Path(second)]
    whole = [read_whole(path) for path in paths]
    one, other = (side_of(each.run) for each in whole)
    history = history_for(paths, _undamaged(whole, (one, other)), Path(past) if past else None)
    compared = compare_runs(one, other, band, history, _figures(judge, other))
    found = replace(compared, damaged=damage(whole))
    if not found.cases and not any(each.lost for each in found.not_compared):
        _refuse_imported(one, other)
    if not found.cases and not found.not_compared and not found.damaged:
        raise PlanError(
            f"{first} and {second} have no case in common",
            "compare runs of the same models, runtimes and settings",
        )
    return found


def _undamaged(
    whole: Sequence[Whole], sides: Sequence[RunSide]
) -> list[tuple[Run, Sequence[Measured]]]:
    """The runs with their cases; one of which something is damaged is read as a past run is."""
    read = zip(whole, sides, strict=True)
    return [(each.run, side.cases) for each, side in read if not each.left_out]


def _figures(judge: Sequence[str], side: RunSide) -> tuple[str, ...]:
    try:
        return figures_judged(tuple(judge), side.percentiles)
    except InvalidValue as error:
        raise PlanError(f"--{error.cause}", error.remedy) from None


def _refuse_imported(one: RunSide, other: RunSide) -> None:
    """What other programs measured is compared only with what the same program did, by samples."""
    runtimes = {c.case.runtime for c in (*one.cases, *other.cases) if is_imported(c.case.runtime)}
    if not runtimes:
        return
    named = ", ".join(sorted(runtimes))
    if {c.case.identity_id for c in one.cases} & {c.case.identity_id for c in other.cases}:
        raise PlanError(
            f"of {named} only figures are known and no single timings, which no verdict can be "
            "made of",
            "compare the two tables by eye",
        )
    raise PlanError(
        f"{one.name} and {other.name} have no case in common: {named} was measured on a clock and "
        "within a boundary of its own",
        "compare it with rows imported from the same program's file of the same model",
    )
