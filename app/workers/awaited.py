"""The checks of a round that was measured before its reference was there.

The process keeps its outputs and waits, idle, while the parent has the reference computed.
"""

from __future__ import annotations

from app.cases.round import AWAITING, Check
from app.workers.check import check_outputs
from app.workers.serve import next_message
from app.workers.shapes import first_axes
from app.workers.under_way import UnderWay
from exporters.codec import from_json
from exporters.types import ExportedModel, Reference, axes_key, load_reference


def awaited_checks(
    this: UnderWay, precision: str, fed: Reference
) -> tuple[Check | None, Check | None]:
    """The checks before and after the measurement, once the parent has sent the whole model.

    `fed` has the inputs that the session was given. None where the parent ends the wait, or where
    the reference is of other inputs: the round is then stopped and does not count.
    """
    this.leave()  # waiting is no part of a phase
    this.tell({"event": AWAITING})
    message = next_message()
    if "model" not in message:
        this.note(stop_reason="stopped")
        return None, None
    this.enter("correctness")
    model = from_json(ExportedModel, message["model"])
    reference = load_reference(model.references[axes_key(first_axes(this.job))])
    if not _same(fed, reference):
        this.note(stop_reason="stopped")
        return None, None
    this.use_model(model)
    if model.uncompared is not None:
        return None, None
    tolerance = this.job.tolerance
    before, after = (
        check_outputs(outputs, precision, reference, model, tolerance)
        for outputs in this.kept_outputs
    )
    return before, after


def _same(one: Reference, other: Reference) -> bool:
    """Whether both have the same inputs, bit by bit."""
    return one.inputs.keys() == other.inputs.keys() and all(
        (array.dtype, array.shape) == (other.inputs[name].dtype, other.inputs[name].shape)
        and array.tobytes() == other.inputs[name].tobytes()
        for name, array in one.inputs.items()
    )
