"""Sequences and optional values."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class SequenceInsert(OpRun):
    """Before a position, which may be the end; onnx's puts the last of all first."""

    def _run(
        self, sequence: list[Any], value: np.ndarray, position: np.ndarray | None = None
    ) -> tuple[list[Any], ...]:
        parts = list(sequence)
        place = len(parts) if position is None else int(np.asarray(position).item())
        parts.insert(place, value)
        return (parts,)


class Optional(OpRun):
    """The value itself; onnx's gives a list of it, which no other operator takes for it."""

    def _run(self, value: Any = None, type: Any = None) -> tuple[Any, ...]:
        if value is None:
            raise NotImplementedError("it does not know an optional value that is absent")
        return (value,)
