"""Columns that name a case: run, model and settings, or the program that it came from.

Imported figures are those of all runs together, as the program states them. No interval and no
bound is made of runs whose processes nobody here has started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.analysis.columns.family import CaseData, Count, Family, Number, Text
from app.analysis.columns.latency import Arrival, Bounds, Intervals, Latency, Throughput
from app.analysis.columns.precision import Precision
from app.cases.case import Case
from app.cases.column import Row, cell_of_pairs
from app.cases.dimensions import DIMENSIONS
from app.cases.round import Imported, RoundResult
from app.run_folder.run import Run
from app.stats.estimates import Estimate
from app.stats.summary import MEAN, Summary
from exporters.inputs import assumed_inputs
from exporters.types import Dimension, ExportedModel
from runtimes.registry import parse_spec


class TheRun(Family, heading="The run"):
    schema_version = Count("Schema")
    """The schema of the run folder that the row comes from."""
    graphlap_version = Text("Graphlap")
    """The version that began the run."""
    run_id = Text("Run")
    """12 hex digits that name the run."""
    case_id = Text("Case", "identity")
    """12 hex digits that name the case, the same on every host."""
    host = Text(group="identity")
    """The machine that measured."""
    started_at_utc = Text("Started")
    """When the first round of the case began, in UTC."""
    seed = Count()
    """Draws the order of the rounds and all data."""
    preset = Text()
    """The name of the preset: how long each round measures, and how many rounds."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        manifest, case = data.run.planned(data.case), data.case
        starts = [result.started_at_utc for result in data.rounds if result.started_at_utc]
        return {
            "schema_version": data.run.manifest.schema_version,
            "graphlap_version": manifest.graphlap_version,
            "run_id": manifest.run_id,
            "case_id": case.case_id,
            "host": data.run.host_of(case) or None,
            "started_at_utc": min(starts, default=None),
            "seed": manifest.seed,
            "preset": None if data.plan.check else data.plan.profile,
        }


class TheModel(Family, heading="The model"):
    suite = Text()
    """The suite of the catalogue that the model belongs to."""
    model = Text(group="identity")
    """A catalogue name, an .onnx path, path/file.py:factory or hf:PATH."""
    family = Text()
    """What the source table calls the kind of network."""
    layers = Count()
    """What the source table counts as layers."""
    width = Count()
    """What the source table calls the width."""
    parameters = Count()
    """Trained values, as torch counts them."""
    parameters_with_buffers = Count("With buffers")
    """Parameters with every norm's running mean and variance."""
    macs = Count("MACs")
    """Multiply-accumulates of one run at the default sizes."""
    model_sha256 = Text()
    """What the exported file is known by."""
    opset = Count()
    """The ONNX operator set of the file."""
    batch_size = Count("Batch", "settings")
    """How many inputs one run takes."""
    sequence_length = Count("Sequence", "settings")
    """How many time steps a sequence model is given."""
    axes = Text(group="settings")
    """The size of every open axis: name=size;name=size."""
    assumed = Text(group="settings")
    """What nobody gave and what decides how much is computed: open axes of a user's file but for a
    batch of one, sizes, lengths, limits and the like among its inputs."""
    inputs_drawn = Text()
    """What each input holds: a range, normal, as in the example; or the files that were given, or
    lie beside the model."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        model = data.run.model_of(data.case)
        assumed = _assumption_text(data.run, data.case, model)
        return model_columns(data.case, model) | {"assumed": assumed}


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


class TheCase(Family, heading="The case"):
    runtime = Text(group="identity")
    """name[:device][@release or environment], as in the plan."""
    device = Text()
    """What follows the colon in the runtime's name; `0+1` are two that share the work."""
    user_files = Text(group="settings")
    """The user's own weights, inputs and calibration data, and the selected part of a graph."""
    options = Text(group="settings")
    """All options of the runtime with the values that held: name=value;name=value."""
    precision_requested = Text("Requested precision")
    """The precision that the plan requests."""
    threads = Count(group="settings")
    """How many threads the engine may use; 0 leaves it to the engine."""
    scenario = Text(group="settings")
    """When the next run begins: at once, after a gap, or on time."""
    gap_us = Number(group="settings")
    """The pause asked for between two runs."""
    offered_rate_hz = Number(group="settings")
    """Requests per second that the scenario offers."""
    burst_size = Count(group="settings")
    """Requests that arrive together, of one multistream query, or queued together."""
    burst_period_us = Number(group="settings")
    """The time from one burst to the next."""
    condition = Text(group="settings")
    """The condition added to the scenario, such as cold caches."""
    wait_policy = Text(group="settings")
    """How the pause is waited out: spin, hybrid or sleep."""
    batcher = Text(group="settings")
    """The dynamic batcher before the model: the most requests that are sent together, and how long
    the oldest waits for others."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        case = data.case
        values: Row = {
            "runtime": case.runtime,
            "device": parse_spec(case.runtime).device or None,
            "user_files": str(case.given) or None,
            "options": cell_of_pairs(_options(data.run, case)),
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
    "compile_ms",
    "first_inference_ms",
    "harness_overhead_ns",
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
        pooled={n: p if n in names else None for n, p in summary.pooled.items()},
        bounds={},
        early_stopping={},
        marks=(),
    )


class OtherProgram(Family, heading="Imported results"):
    """It replaces what another program's file states, any figure maybe."""

    imported_from = Text(group="identity")
    """The program that measured the row, with its version if the file has it."""
    imported_file = Text()
    """The name of the file that it was read from."""
    imported_sha256 = Text("File's sha256")
    """What that file is known by."""

    @staticmethod
    def fill(data: CaseData, row: Row) -> Row:
        origin = imported_by(data.rounds)
        if origin is None:
            return {}
        families = (Latency, Arrival, Intervals, Precision, Bounds, Throughput)
        other_names = [n for family in families for n in family.names() if not _is_figure(n)]
        return {
            **dict.fromkeys((*other_names, *_GRAPHLAP_COLUMNS)),
            **{name: value for name, value in origin.figures.items() if name in row},
            "ci_missing_reason": row["ci_missing_reason"],
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
