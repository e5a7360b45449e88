"""Columns that name a case: model, settings and engine, or the program that it came from.

Imported figures are those of all runs together, as the program states them. No interval and no
bound is made of runs whose processes nobody here has started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.analysis.columns.environment import engine_columns
from app.cases.case import Case
from app.cases.column import Row, cell_of_pairs
from app.cases.columns import COLUMNS
from app.cases.dimensions import DIMENSIONS
from app.cases.round import Imported, RoundResult
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.stats.estimates import Estimate
from app.stats.summary import MEAN, Summary
from exporters.inputs import assumed_inputs
from exporters.types import Dimension, ExportedModel
from runtimes.registry import parse_spec


def identity_columns(run: Run, case: Case, rounds: Sequence[RoundResult], plan: Plan) -> Row:
    """Of its `rounds`, which may be none."""
    model = run.model_of(case)
    return {
        **_identity(run, case, rounds),
        **model_columns(case, model),
        **_setting_columns(run, case),
        **engine_columns(case, rounds),
        "assumed": _assumption_text(run, case, model),
        "preset": None if plan.check else plan.profile,
    }


def _assumption_text(run: Run, case: Case, model: ExportedModel | None) -> str | None:
    """`a decode step, past 127, num_points 2, orig_im_size 224 x 224`: axes that nobody gave a
    size, but for a batch of one, and inputs that decide how much is computed. Axes that a search or
    a sum has changed are none."""
    given = run.planned(case).assumed_sizes.get(case.model, {})
    sizes = {axis: n for axis, n in given.items() if case.axes.get(axis) == n}
    past, batch = (model.past, model.batch) if model else (None, "batch")
    parts = []
    if past in sizes and 1 in sizes.values():
        parts.append(f"a decode step, past {sizes.pop(str(past))}")
        sizes = {axis: n for axis, n in sizes.items() if n > 1}
    if sizes.get(str(batch)) == 1:
        del sizes[str(batch)]
    parts += [f"{axis} {size}" for axis, size in sizes.items()]
    parts += assumed_inputs(model.inputs if model else ())
    return ", ".join(parts) or None


def _identity(run: Run, case: Case, rounds: Sequence[RoundResult]) -> Row:
    manifest, plan_manifest = run.manifest, run.planned(case)
    return {
        "schema_version": manifest.schema_version,
        "graphlap_version": plan_manifest.graphlap_version,
        "run_id": plan_manifest.run_id,
        "case_id": case.case_id,
        "host": run.host_of(case) or None,
        "started_at_utc": min((r.started_at_utc for r in rounds if r.started_at_utc), default=None),
        "seed": plan_manifest.seed,
    }


def model_columns(case: Case, model: ExportedModel | None) -> Row:
    """Its sizes as the model has them, where that is known."""
    values: Row = {
        "suite": case.suite or None,
        "model": case.model,
        "batch_size": case.axes.get("batch"),
        "sequence_length": case.axes.get("sequence"),
        "axes": cell_of_pairs(case.axes),
    }
    if model is None:
        return values
    model = model.at(case.axes)
    axes = {name: n for name, n in model.axes.items() if name not in case.condition.varied}
    return values | {
        "family": model.family or None,
        "layers": model.layers,
        "width": model.width,
        "parameters": model.parameters,
        "parameters_with_buffers": model.parameters_with_buffers,
        "macs": model.macs,
        "model_sha256": model.sha256,
        "opset": model.opset,
        "batch_size": _size(axes, model.batch),
        "sequence_length": _size(axes, model.sequence),
        "axes": cell_of_pairs(axes),
        "inputs_drawn": model.inputs_drawn or None,
    }


def _size(axes: Mapping[str, int], dimension: Dimension | None) -> int | None:
    return axes.get(dimension) if isinstance(dimension, str) else dimension


def _setting_columns(run: Run, case: Case) -> Row:
    values: Row = {
        "runtime": case.runtime,
        "device": parse_spec(case.runtime).device or None,
        "user_files": str(case.given) or None,
        "options": cell_of_pairs(_options(run, case)),
    }
    for dimension in DIMENSIONS:
        values |= dimension.row(case)
    return values


def _options(run: Run, case: Case) -> Mapping[str, object]:
    """All of the runtime's, as a round has told them; before one, those that were asked for."""
    reported_options = (result.options for result in run.rounds_of(case) if result.options)
    return next(reported_options, case.options)


REASON = "measured by {program}, not by Graphlap: no output was compared, and it is never ranked"
_GRAPHLAP_COLUMNS = (
    "host",
    "started_at_utc",
    "seed",
    "device",
    "precision_requested",
    "threads",
    "wait_policy",
    "preset",
    "stop_reason",
    "drift",
    "warmup_iterations",
    "warmup_s",
    "input_sets",
    "concurrency",
)
"""What a plan or a measuring process of ours would have settled or seen."""
_MEAN_FIGURES = ("p50", MEAN)
"""What means of several calls tell of calls; of their tail they tell nothing."""


def imported_by(rounds: Sequence[RoundResult]) -> Imported | None:
    """Who measured the rounds of a case; None of one of ours."""
    return next((result.imported for result in rounds if result.imported is not None), None)


def as_imported(summary: Summary | None, rounds: Sequence[RoundResult]) -> Summary | None:
    """The statistics with the program's own figures, and those of all samples for others; as they
    are of a case of ours."""
    origin = imported_by(rounds)
    if origin is None or summary is None:
        return summary

    def value(name: str, pooled_value: float | None) -> float | None:
        figure = origin.figures.get(f"latency_{name}_us")
        return float(figure) if figure is not None else pooled_value

    names = [name for name in summary.figures if origin.calls == 1 or name in _MEAN_FIGURES]
    absent = f"{origin.program} tells none"
    return replace(
        summary,
        figures={
            name: Estimate(value(name, summary.pooled.get(name)), None, absent, figure.by_round)
            if name in names
            else Estimate(None, None, "each sample is the mean of several calls")
            for name, figure in summary.figures.items()
        },
        pooled={
            name: pooled_figure if name in names else None
            for name, pooled_figure in summary.pooled.items()
        },
        bounds={},
        early_stopping={},
        marks=(),
    )


def imported_columns(rounds: Sequence[RoundResult], values: Row) -> Row:
    """What replaces the columns of a row; nothing for one of ours."""
    origin = imported_by(rounds)
    if origin is None:
        return {}
    other_names = [
        column.name
        for column in COLUMNS
        if column.section == "Latency and throughput" and not _is_figure(column.name)
    ]
    return {
        **dict.fromkeys((*other_names, *_GRAPHLAP_COLUMNS)),
        **{name: value for name, value in origin.figures.items() if name in values},
        "ci_missing_reason": values["ci_missing_reason"],
        "clock": origin.clock,
        "boundary": origin.boundary,
        "imported_from": origin.program_text,
        "imported_file": origin.file,
        "imported_sha256": origin.sha256,
    }


def _is_figure(name: str) -> bool:
    """Of latencies, and of nothing that is claimed of them."""
    is_bound = "_ci_" in name or name.endswith("_upper_bound_us")
    return name.startswith(("latency_", "pooled_")) and not is_bound
