"""Comparisons of runs: with a baseline, a stored run or itself, and `graphlap compare A B`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.analysis.columns.reference_cases import compare_with_baseline
from app.analysis.comparison.aa_test import ALL, AAFigure, AAResult, aa_result
from app.analysis.comparison.judge import Comparison
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case, have_hosts, identity_test
from app.cases.errors import PlanError
from app.cases.objectives import BAND, figures_judged
from app.cases.round import is_imported
from app.formatting.text import counted, duration
from app.machine.environment import describe_host
from app.machine.installed_runtimes import clock_of
from app.plan.command_line import explicit_settings
from app.plan.configuration import configurations
from app.plan.gate_settings import GateSetting, gate_settings, reject_project_settings
from app.plan.options import Layers, layers_of_run
from app.plan.plan import Plan, parse_plan
from app.plan.reference_cases import baselines
from app.present.console import verdicts
from app.present.console.export_formats import damage
from app.present.console.regression_gate import code
from app.present.console.verdicts import OutputOptions, output_options_of
from app.present.document import Block, Heading, Points
from app.present.terminal import as_markdown
from app.run_folder.ledger import Ledger
from app.run_folder.manifest import Manifest, read_manifest
from app.run_folder.run import Run
from app.run_folder.table import to_csv
from app.runs.history.run_comparison import (
    RunSide,
    compare_runs,
    history_for,
    reject_same_run,
    side_of,
)
from app.runs.verify import IntactRun, read_intact
from app.stats.intervals import MINIMUM_ROUNDS
from exporters.types import InvalidValue

FILE = "aa.csv"


def as_lines(result: AAResult) -> Iterator[str]:
    """A line for each case, and one for all of them."""
    by_case: dict[str, list[AAFigure]] = {}
    for figure in (*result.cases, *result.overall):
        by_case.setdefault(figure.label, []).append(figure)
    for label, figures in by_case.items() if result.cases else ():
        yield f"{label}: {'; '.join(map(_figure_text, figures))}"
    complete = result.overall[0].comparisons
    if complete < result.total:
        yield (
            f"{complete} of {counted(result.total, 'comparison')} have all their rounds: "
            "resume the run"
        )
    if result.cases:
        yield (
            "wrong: a verdict of faster or slower, all verdicts of a comparison judged together; "
            f"a change within {100 * result.band:g}% does not count"
        )


def as_csv(result: AAResult) -> str:
    """A row for each case and percentile, then for all cases; shares are between 0 and 1."""
    rows = [_values(figure, result.rounds) for figure in (*result.cases, *result.overall)]
    return to_csv(rows, list(rows[0])).decode()


def as_json(result: AAResult) -> dict[str, Any]:
    """Stable keys: what is added later is a new key."""
    return {
        "format": "graphlap-aa",
        "version": 1,
        "rounds": result.rounds,
        "comparisons_asked": result.total,
        "band": result.band,
        "cases": [_values(figure, result.rounds) for figure in result.cases],
        "together": [_values(figure, result.rounds) for figure in result.overall],
    }


def _values(figure: AAFigure, rounds: int) -> dict[str, Any]:
    return {
        "case_id": figure.case_id,
        "case": figure.label,
        "percentile": figure.percentile,
        "comparisons": figure.comparisons,
        "wrong": figure.wrong,
        "wrong_share_ci_low": figure.share.low,
        "wrong_share_ci_high": figure.share.high,
        "rounds": rounds,
        "smallest_change": figure.smallest_change,
    }


def _figure_text(figure: AAFigure) -> str:
    name = "any" if figure.percentile == ALL else figure.percentile
    share = f"{100 * figure.share.low:.2g} to {100 * figure.share.high:.2g}%"
    wrong = f"{name} wrong in {figure.wrong} of {figure.comparisons} ({share})"
    if figure.smallest_change is None or figure.percentile == ALL:
        return wrong
    return f"{wrong}, would find a change of {figure.smallest_change:.1%}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a comparison: blocks, Markdown, an exit code, files by path, and the same for
    programs."""

    blocks: tuple[Block, ...]
    files: Mapping[str, str]
    code: int = 0
    markdown: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparer:
    """`stored` is the run to compare with; without one it is the plan's own baseline, if any.
    `damaged` has a sentence for each thing in the stored run that could not be read; `history` is a
    folder of earlier runs of the machine, where one was named, `settings` are those of the gate,
    and `allow_mixed` is as of a `Comparison`."""

    output_options: OutputOptions = field(default_factory=OutputOptions)
    stored: RunSide | None = None
    damaged: tuple[str, ...] = ()
    history: Path | None = None
    settings: tuple[GateSetting, ...] = ()
    allow_mixed: bool = False

    def outcome_of(self, run: Run, measurements: Sequence[MeasuredCase]) -> Outcome | None:
        """What is to be told of a run that has ended; None where nothing was to be compared."""
        plan, where = run.manifest.requested_plan, str(run.path)
        if plan.aa is not None:
            return self._aa_outcome(aa_result(run, measurements), run.path)
        if self.stored is not None:
            side = side_of(run, measurements)
            paths = [Path(self.stored.name), run.path]
            history = history_for(paths, [(run, measurements)], self.history)
            comparison = compare_runs(self.stored, side, plan.band, history)
            comparison = replace(comparison, damaged=self.damaged, detect=plan.detect)
            return self._outcome(replace(comparison, allow_mixed=self.allow_mixed))
        baseline_comparison = compare_with_baseline(plan, measurements, where)
        if baseline_comparison is None:
            return None
        return self._outcome(replace(baseline_comparison, allow_mixed=self.allow_mixed))

    def reject_useless(self, plan: Plan, cases: Sequence[Case], resumed: bool = False) -> None:
        """PlanError for a comparison that would come to nothing, and for a gate that could never
        find anything slower, before anything is measured. A run that is resumed has rounds
        already, which no budget bounds."""
        if self.stored is not None:
            self._reject_unlike(self.stored, plan, cases)
        gate = self.output_options.gate
        if not gate:
            return
        rounds = 1 if plan.largest_batch else plan.lengths.rounds
        if rounds < MINIMUM_ROUNDS:
            raise PlanError(
                f"--fail-on {gate}: a verdict needs {MINIMUM_ROUNDS} rounds of each case, and the "
                f"plan has {rounds}",
                f"give --rounds {MINIMUM_ROUNDS} or more"
                if not plan.largest_batch
                else "leave out --fail-on or the search for the largest batch",
            )
        pairs = baselines(plan.baseline, cases) if plan.baseline else {}
        clocks = {case.case_id: clock_of(case.runtime) for case in cases}
        if pairs and all(
            clocks[case_id] != clocks[reference.case_id] for case_id, reference in pairs.items()
        ):
            raise PlanError(
                f"--fail-on {gate}: no case has the clock of its baseline {plan.baseline!r}, and "
                "clocks are not mixed",
                "give a runtime of the same clock",
            )
        budget_s = None if resumed else plan.budget_s
        if budget_s is not None and not plan.cluster and not plan.is_search:
            least_s = plan.lengths.limits.min_s * (MINIMUM_ROUNDS * len(cases) - 1)
            if budget_s < least_s:
                raise PlanError(
                    f"--fail-on {gate}: a verdict needs {MINIMUM_ROUNDS} rounds of each "
                    "case, which "
                    f"take more than the budget of {duration(budget_s)}",
                    f"give --budget {duration(math.ceil(least_s))} or more, or fewer cases",
                )

    def _reject_unlike(self, stored_side: RunSide, plan: Plan, cases: Sequence[Case]) -> None:
        """For a stored run that has no case of this plan, no percentile of it, or, for a gate, too
        few rounds. What a search will try is not known yet, nor which host a case will be on."""
        if not set(stored_side.percentiles) & set(plan.percentiles):
            raise PlanError(
                f"{stored_side.name} lacks the percentiles of this plan",
                "give the same --percentiles, or none",
            )
        has_hosts = have_hosts(measurement.case for measurement in stored_side.cases)
        if plan.is_search or (has_hosts and plan.cluster and not plan.per_host):
            return
        host = describe_host()["host"]
        is_same = identity_test([(case, case.host or host) for case in cases])
        common = [m for m in stored_side.cases if is_same(m.case, m.row.get("host"))]
        if not common:
            raise PlanError(
                f"{stored_side.name} and this plan have no case in common",
                "name a run of the same models, runtimes and settings",
            )
        if self.output_options.gate and all(len(o.rounds) < MINIMUM_ROUNDS for o in common):
            raise PlanError(
                f"--fail-on {self.output_options.gate}: a verdict needs {MINIMUM_ROUNDS} rounds of "
                f"each case, and {stored_side.name} has fewer of every case of this plan",
                "name a run with more rounds",
            )

    def _outcome(self, result: Comparison) -> Outcome:
        comparison = replace(result, settings=self.settings)
        design = ", round by round" if comparison.in_turn else ""
        gate = self.output_options.gate
        heading = Heading(f"against {comparison.first}{design}")
        blocks = (heading, *verdicts.comparison_blocks(comparison, gate))
        return Outcome(
            blocks,
            verdicts.files(comparison, self.output_options),
            code(comparison, gate),
            as_markdown(blocks) if self.output_options.markdown else "",
            verdicts.as_json(comparison, gate),
        )

    def _aa_outcome(self, result: AAResult, folder: Path) -> Outcome:
        files = {str(folder / FILE): as_csv(result)}
        if self.output_options.json_path:
            files[self.output_options.json_path] = verdicts.json_text(as_json(result))
        heading = f"each case with itself, {result.rounds} rounds a side"
        blocks = (Heading(heading), Points(tuple(as_lines(result))))
        return Outcome(blocks, files, facts=as_json(result))


def comparer_of(
    flags: argparse.Namespace, plan: Plan, layers: Layers, resumed: Manifest | None = None
) -> Comparer:
    """What the flags and the plan ask for, of a new run or of one that is resumed; `layers` gave
    the plan its values. PlanError or ResultsError before anything is written."""
    if flags.against is not None and (plan.baseline or plan.aa):
        raise PlanError(
            "the plan compares already, with a baseline or by aa, and --against is another",
            "give one of them",
        )
    if flags.against is None and not plan.baseline:
        judging = () if plan.aa else ("threshold", "metrics", "detect", "json")
        for name in ("fail_on", "junit", *judging):
            if getattr(flags, name):
                raise PlanError(
                    f"--{name.replace('_', '-')} belongs to a comparison, and none is asked for",
                    "add --baseline or --against",
                )
    if flags.history is not None and flags.against is None:
        raise PlanError(
            "--history: it shows how far two runs of the machine differ, and this run is compared "
            "with no other",
            "Add --against or leave out --history",
        )
    compares = flags.against is not None or plan.baseline
    if compares and flags.format == "markdown" and flags.sort is not None:
        raise PlanError(
            "--sort has no effect: -f markdown prints the comparison and no rows",
            "Leave out --sort or -f markdown",
        )
    if plan.aa and plan.lengths.rounds < 2 * plan.aa * MINIMUM_ROUNDS:
        raise PlanError(
            "with so few rounds a side, --aa decides nothing",
            f"give --rounds {MINIMUM_ROUNDS} or more",
        )
    output_options = output_options_of(flags)
    settings: tuple[GateSetting, ...] = ()
    if output_options.gate:
        if not flags.trust_project:
            reject_project_settings(layers)
        settings = gate_settings(plan, layers)
    if flags.against is None:
        return Comparer(output_options, settings=settings, allow_mixed=flags.allow_mixed)
    intact = read_intact(Path(flags.against))
    if resumed is not None:
        reject_same_run(intact.run, frozenset({resumed.run_id}))
    stored_side = side_of(intact.run)
    if not any(measurement.summary for measurement in stored_side.cases):
        raise PlanError(f"nothing was measured in {stored_side.name}", "name a run that has rows")
    history = None if flags.history is None else Path(flags.history)
    if history is not None:
        history_for((), history_folder=history)  # refused before anything is measured
    return Comparer(
        output_options, stored_side, damage([intact]), history, settings, flags.allow_mixed
    )


_COMPARE_KEYS = frozenset(("band", "detect"))
"""What a comparison takes from configuration files; of all else the second run has values."""


def compare_by_options(runs: Sequence[str], options: argparse.Namespace) -> Comparison:
    """The verdicts on two run folders by the settings of a command line and, as a run that is
    measured has them, by those of configuration files; PlanError for a gate that a project's file
    sets without `--trust-project`."""
    first, second = runs
    flags = explicit_settings(options, "plan")
    files = [file.restricted_to(_COMPARE_KEYS) for file in configurations(options.config)]
    layers = Layers({}, flags, {}, "", files)
    if options.fail_on and not options.trust_project:
        reject_project_settings(layers)
    values: dict[str, Any] = {}
    for file in reversed(files):
        values |= file.plan
    values |= flags
    comparison = compare(
        first,
        second,
        band=values.get("band", BAND),
        past=options.history,
        judge=values.get("judge", ()),
    )
    plan = read_manifest(Path(second)).requested_plan
    from_run = layers_of_run(plan, second)
    base = {key: value for key, value in from_run.base.items() if key not in _COMPARE_KEYS}
    plan = parse_plan(
        {**plan.model_dump(mode="json"), "band": BAND, "detect": None, **values}, "the command line"
    )
    settings = gate_settings(plan, replace(layers, base=base, origin=from_run.origin))
    return replace(
        comparison, detect=plan.detect, settings=settings, allow_mixed=options.allow_mixed
    )


def compare(
    first: str, second: str, *, band: float, past: str | None = None, judge: Sequence[str] = ()
) -> Comparison:
    """The verdicts on two run folders; ResultsError for a folder that is none.

    `past` is a folder of earlier runs of the machine; without one, those beside the two are read.
    `judge` are the figures to judge, as `--metrics` names them; PlanError for one that neither run
    has, and for two runs without a common case.
    """
    paths = [Path(first), Path(second)]
    first_intact, first_side = _read_side(paths[0])
    second_intact, second_side = _read_side(paths[1], first_intact.run)
    intact_runs = [first_intact, second_intact]
    # One of which something is damaged is read as a past run is.
    read = zip(intact_runs, (first_side, second_side), strict=True)
    undamaged = [(each.run, side.cases) for each, side in read if not each.damage_texts]
    history = history_for(paths, undamaged, Path(past) if past else None)
    result = compare_runs(first_side, second_side, band, history, _figures(judge, second_side))
    comparison = replace(result, damaged=damage(intact_runs))
    if not comparison.cases and not any(item.is_lost for item in comparison.not_compared):
        _reject_imported(first_side, second_side)
    if not comparison.cases and not comparison.not_compared and not comparison.damaged:
        raise PlanError(
            f"{first} and {second} have no case in common",
            "compare runs of the same models, runtimes and settings",
        )
    return comparison


def _read_side(path: Path, other: Run | None = None) -> tuple[IntactRun, RunSide]:
    """A run without its rounds, and the side that is made of them: two large runs are never held
    whole. PlanError where it is the `other` one."""
    intact = read_intact(path)
    if other is not None:
        reject_same_run(other, intact.run.run_ids)
    run = replace(intact.run, rounds={}, store=None)
    return replace(intact, run=run, ledger=Ledger(path, run.manifest)), side_of(intact.run)


def _figures(judge: Sequence[str], side: RunSide) -> tuple[str, ...]:
    try:
        return figures_judged(tuple(judge), side.percentiles)
    except InvalidValue as error:
        raise PlanError(f"--{error.cause}", error.remedy) from None


def _reject_imported(first: RunSide, second: RunSide) -> None:
    """What other programs measured is compared only with what the same program did, by samples."""
    runtimes = {
        c.case.runtime for c in (*first.cases, *second.cases) if is_imported(c.case.runtime)
    }
    if not runtimes:
        return
    runtime_text = ", ".join(sorted(runtimes))
    if {c.case.case_id for c in first.cases} & {c.case.case_id for c in second.cases}:
        raise PlanError(
            f"of {runtime_text} only figures are known and no single timings, which no "
            "verdict can be "
            "made of",
            "compare the two tables by eye",
        )
    raise PlanError(
        f"{first.name} and {second.name} have no case in common: {runtime_text} was "
        "measured on a clock and "
        "within a boundary of its own",
        "compare it with rows imported from the same program's file of the same model",
    )
