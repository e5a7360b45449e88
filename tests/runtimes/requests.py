"""Requests for sessions that a test makes itself, without the checks of a runtime."""

from __future__ import annotations

from exporters.types import ExportedModel
from runtimes.options import OptionValue, Request, Settings, input_shapes


def request_of(
    model: ExportedModel, batch: int = 1, settings: Settings | None = None, **options: OptionValue
) -> Request:
    """The model at one batch size, where it has that axis, with exactly these options."""
    axes = {"batch": batch} if model.axes else {}
    return Request(model, axes, settings or Settings(), options, input_shapes(model, axes))
