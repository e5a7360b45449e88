"""The casts at both ends of a module in bfloat16, whose inputs and outputs are float32.

No plain array holds bfloat16. The casts are a part of each run, as they are of a graph's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from exporters.calling import is_row
from runtimes.pyt.lane import Result, flat, row

_WIDE, _NARROW = torch.float32, torch.bfloat16


class NarrowEnds:
    """`inside` are the tensors that the module reads: those of `outside`, narrowed in each run."""

    def __init__(self, outside: Iterable[torch.Tensor]) -> None:
        outside = tuple(outside)
        self.inside = tuple(t.to(_NARROW) if t.dtype is _WIDE else t for t in outside)
        pairs = zip(self.inside, outside, strict=True)
        self._pairs = [(inside, given) for inside, given in pairs if inside is not given]

    def around(self, call: Callable[[], Result]) -> Callable[[], Result]:
        """`call` on the inputs as they are, its outputs as float32."""
        pairs = self._pairs

        def run() -> Result:
            for inside, given in pairs:
                inside.copy_(given)
            result = call()
            tensors = row(result) if is_row(result) else flat(result)
            return tuple(t.to(_WIDE) if t.dtype is _NARROW else t for t in tensors)

        return run
