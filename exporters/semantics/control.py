"""Loop and Scan, sequences and optional values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_loop import Loop as _OnnxLoop


class Loop(_OnnxLoop):
    """onnx's joins what turns give along its first axis, and takes no condition for a false one.

    A turn that leaves its shape open, because there is none, is refused.
    """

    body: Any
    _run_body: Callable[..., list[Any]]

    def _run(
        self,
        M: np.ndarray | None = None,  # noqa: N803 - the definition's names
        cond: np.ndarray | None = None,
        *states: Any,
        context: dict[str, Any] | None = None,
        body: Any = None,
        attributes: Any = None,
        bindings: Any = None,
    ) -> tuple[Any, ...]:
        names = self.body.input_names
        limit = None if M is None else int(np.asarray(M).item())
        goes_on = cond is None or bool(cond)
        scan_rows: list[list[Any]] = [[] for _ in range(self.K)]
        turn = 0
        while goes_on and (limit is None or turn < limit):
            feeds = dict(context or {})
            feeds |= zip(names, (np.array(turn, np.int64), np.array(True), *states), strict=True)
            goes_on_now, *values = self._run_body(feeds, attributes=attributes, bindings=bindings)
            goes_on = bool(goes_on_now)
            states = tuple(values[: self.N])
            for parts, value in zip(scan_rows, values[self.N :], strict=True):
                parts.append(value)
            turn += 1
        if self.K and not turn:
            raise NotImplementedError(
                "the shape of an output is unknown if a Loop has no iteration"
            )
        return self._check_and_fix_outputs((*states, *(np.stack(parts) for parts in scan_rows)))


_FIRST_WITHOUT_BATCH = 9
"""Below this opset, Scan has a batch as first axis, and each of its rows is scanned by itself."""


class Scan(OpRun):
    """Along any axis, in either direction, with and without a batch; onnx's knows axis 0 alone."""

    body: Any
    _run_body: Callable[..., list[Any]]

    def need_context(self) -> bool:
        """The body may name values of the graph around it."""
        return True

    def _run(
        self,
        *inputs: Any,
        context: dict[str, Any] | None = None,
        body: Any = None,
        attributes: Any = None,
        bindings: Any = None,
        num_scan_inputs: int = 0,
        directions: Sequence[int] | None = None,
        scan_input_axes: Sequence[int] | None = None,
        scan_input_directions: Sequence[int] | None = None,
        scan_output_axes: Sequence[int] | None = None,
        scan_output_directions: Sequence[int] | None = None,
    ) -> tuple[Any, ...]:
        def run_scan(values: Sequence[Any]) -> list[np.ndarray]:
            count = len(values) - num_scan_inputs
            states, scans = list(values[:count]), list(values[count:])
            axes, backwards = scan_input_axes or (), scan_input_directions or directions or ()
            for place, value in enumerate(scans):
                moved = np.moveaxis(value, axes[place] if axes else 0, 0)
                scans[place] = moved[::-1] if backwards and backwards[place] else moved
            made: list[list[Any]] = [[] for _ in self.body.output_names[count:]]
            for turn in zip(*scans, strict=True):
                feeds = dict(context or {})
                feeds |= zip(self.body.input_names, (*states, *turn), strict=True)
                values = self._run_body(feeds, attributes=attributes, bindings=bindings)
                states = list(values[:count])
                for parts, value in zip(made, values[count:], strict=True):
                    parts.append(value)
            if made and not made[0]:
                raise NotImplementedError(
                    "the shape of an output is unknown if a Scan has no iteration"
                )
            return states + [
                np.stack(
                    parts[::-1] if (scan_output_directions or (0,) * len(made))[place] else parts,
                    scan_output_axes[place] if scan_output_axes else 0,
                )
                for place, parts in enumerate(made)
            ]

        if self._schema.since_version >= _FIRST_WITHOUT_BATCH:
            return tuple(run_scan(inputs))
        lengths, *batches = inputs
        if lengths is not None:
            raise NotImplementedError("it does not know sequence_lens of Scan")
        rows = [run_scan(row) for row in zip(*batches, strict=True)]
        return tuple(np.stack(parts) for parts in zip(*rows, strict=True))


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
