"""What lies around a module in each run, where its tensors are not those of the lane.

In bfloat16 the inputs and outputs of a run are float32, since no plain array holds bfloat16: the
casts are a part of each run, as they are of a graph's. An input that the module writes to is
copied in each run, so that every run computes on what was bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from exporters.calling import is_row
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.pyt.lane import Result, flat, row
from runtimes.request import Request

_WIDE, _NARROW = torch.float32, torch.bfloat16


class Ends:
    """`inside` are the tensors that the module reads: those of `outside`, renewed in each run."""

    def __init__(
        self, outside: Sequence[torch.Tensor], written: Sequence[bool], narrow: bool
    ) -> None:
        self._narrow = narrow
        self.inside = tuple(
            tensor.to(_NARROW)
            if narrow and tensor.dtype is _WIDE
            else tensor.clone()
            if is_written
            else tensor
            for tensor, is_written in zip(outside, written, strict=True)
        )
        pairs = zip(self.inside, outside, strict=True)
        self._pairs = [(inside, given) for inside, given in pairs if inside is not given]

    def around(self, call: Callable[[], Result]) -> Callable[[], Result]:
        """`call` on the inputs as they are, in bfloat16 its outputs as float32."""
        pairs = self._pairs

        def run() -> Result:
            for inside, given in pairs:
                inside.copy_(given)
            return call()

        def run_narrow() -> Result:
            result = run()
            tensors = row(result) if is_row(result) else flat(result)
            return tuple(t.to(_WIDE) if t.dtype is _NARROW else t for t in tensors)

        return run_narrow if self._narrow else run


def ends_of(request: Request, outside: Sequence[torch.Tensor]) -> Ends | None:
    """What lies around the module of this request; None where it reads the lane's own tensors."""
    model, narrow = request.model, request.settings.precision == "bf16"
    written = [spec.name in model.written_inputs for spec in model.inputs]
    return Ends(outside, written, narrow) if narrow or any(written) else None


def copied_inputs(request: Request) -> tuple[Diagnostic, ...]:
    """The diagnostic of runs that copy inputs first; () where none is copied."""
    written = request.model.written_inputs
    return (diagnostic("inputs_copied", inputs=written),) if written else ()
