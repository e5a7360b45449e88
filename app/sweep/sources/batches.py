"""The sizes that a case runs: of its export all of them, of a round the model at each batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.cases.case import Case
from app.machine.available import runtime
from app.plan.subjects import batch_axis
from exporters.types import ExportedModel
from runtimes.faults import Unsupported
from runtimes.registry import parse_spec


def points(case: Case) -> Iterator[Mapping[str, int]]:
    """The axes of all shapes and batches that a case runs, its own first."""
    if case.condition.points:
        yield from ({**case.axes, **point} for point in case.condition.points)
        return
    yield case.axes
    if case.batcher is not None:
        axis = batch_axis(case.model, case.given)
        for size in case.batcher.sizes:
            if axis is not None and size != case.axes.get(axis):
                yield {**case.axes, axis: size}


def batches(case: Case, model: ExportedModel) -> tuple[ExportedModel, ...]:
    """The model at each batch of the case's batcher, ascending; () without one.

    Unsupported for a model whose inputs can't be sent together, and for a card without a clock.
    """
    if case.batcher is None:
        return ()
    axis = model.batch
    if not isinstance(axis, str):
        raise Unsupported(f"{case.model} has no open batch axis", "remove --batcher")
    if model.states:
        raise Unsupported(
            f"{case.model} hands its state from run to run, and a batch holds requests of several "
            "streams",
            "remove --batcher",
        )
    if runtime(parse_spec(case.runtime).name).clock == "simulated":
        raise Unsupported(
            f"{case.runtime} has no server to wait for: its schedule knows runs of one batch",
            "remove --batcher",
        )
    return tuple(model.at({**case.axes, axis: size}) for size in case.batcher.sizes)
