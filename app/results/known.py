"""What a row says of a case however far it came: who it is, of which model, in which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.cases.axes import AXES
from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import RoundResult
from app.plan.plan import Plan
from app.results.engine import engine_columns
from app.results.run import Run
from exporters.types import Dimension, ExportedModel
from runtimes.registry import parse_spec


def known_columns(run: Run, case: Case, rounds: Sequence[RoundResult], asked: Plan) -> Row:
    """Of its `rounds`, which may be none."""
    model = run.model_of(case)
    return {
        **_identity(run, case, rounds),
        **model_columns(case, model),
        **_setting_columns(run, case),
        **engine_columns(case, rounds),
        "assumed_sizes": _assumed(run, case),
        "preset": None if asked.check else asked.profile,
    }


def _assumed(run: Run, case: Case) -> str | None:
    """The axes that nobody gave a size; those that a search or a sum has changed are none."""
    sizes = run.planned(case).assumed_sizes.get(case.model, {})
    return _pairs({axis: n for axis, n in sizes.items() if case.axes.get(axis) == n})


def _identity(run: Run, case: Case, rounds: Sequence[RoundResult]) -> Row:
    manifest, planned = run.manifest, run.planned(case)
    return {
        "schema_version": manifest.schema_version,
        "graphlap_version": planned.graphlap_version,
        "run_id": manifest.run_id,
        "case_id": case.case_id,
        "host": run.host_of(case) or None,
        "started_at_utc": min((r.started_at_utc for r in rounds if r.started_at_utc), default=None),
        "seed": planned.seed,
    }


def model_columns(case: Case, model: ExportedModel | None) -> Row:
    """Its sizes as the model has them, where that is known."""
    values: Row = {
        "suite": case.suite or None,
        "model": case.model,
        "batch_size": case.axes.get("batch"),
        "sequence_length": case.axes.get("sequence"),
        "axes": _pairs(case.axes),
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
        "axes": _pairs(axes),
        "inputs_drawn": model.inputs_drawn or None,
    }


def _size(axes: Mapping[str, int], dimension: Dimension | None) -> int | None:
    return axes.get(dimension) if isinstance(dimension, str) else dimension


def _setting_columns(run: Run, case: Case) -> Row:
    values: Row = {
        "runtime": case.runtime,
        "device": parse_spec(case.runtime).device or None,
        "user_files": str(case.given) or None,
        "options": _pairs(_options(run, case)),
    }
    for axis in AXES:
        values |= axis.row(case)
    return values


def _options(run: Run, case: Case) -> Mapping[str, object]:
    """All of the runtime's, as a round has told them; before one, those that were asked for."""
    told = (result.options for result in run.rounds_of(case) if result.options)
    return next(told, case.options)


def _pairs(values: Mapping[str, object]) -> str | None:
    return " ".join(f"{name}={values[name]}" for name in sorted(values)) or None
