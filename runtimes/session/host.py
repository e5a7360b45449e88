"""Lane over host memory: checked inputs, buffers of its own, state by copy, and the option `call`
that chooses the timing loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NoReturn

import numpy as np

from exporters import install_layout
from exporters.types import StatePair, TensorSpec
from runtimes.base import Arrays, Lane
from runtimes.calls import Copy, built
from runtimes.errors import RunFault, Unsupported
from runtimes.options import Option, Request

CALL = Option(
    "call",
    "auto",
    "which loop times the runs: c, python, or auto, which is c where it was built",
    ("auto", "c", "python"),
    tuned=False,
)


def takes_c(call: str) -> bool:
    """Whether the loop in C is to time; Unsupported where it must and was not built."""
    if call == "c" and not built():
        raise Unsupported("the loop in C was not built", install_layout.COMPILER_REMEDY)
    return call != "python" and built()


_ALIGNMENT = 64


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised C-contiguous array that starts on a cache line."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The same, zeroed."""
    array = aligned_empty(shape, dtype)
    array.fill(0)
    return array


def tensor_dtype(spec: TensorSpec) -> np.dtype:
    """The numpy dtype of a tensor; Unsupported for what is no plain array of numbers."""
    try:
        dtype = np.dtype(spec.dtype)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc":
        raise Unsupported(
            f"{spec.name!r} holds {spec.dtype}, which is no array of numbers",
            "use a graph whose inputs and outputs are numeric tensors",
        )
    return dtype


NewArray = Callable[[tuple[int, ...], np.dtype], np.ndarray]
"""Makes a zeroed array of a shape and a type."""


def input_buffers(request: Request, array: NewArray = aligned_zeros) -> dict[str, np.ndarray]:
    """Zeroed buffers for every input."""
    return {
        spec.name: array(request.shapes[spec.name], tensor_dtype(spec))
        for spec in request.model.inputs
    }


def poison(array: np.ndarray) -> None:
    """Overwrite every element with another value than it has: what a run leaves so is not written.

    Floats become NaN, or minus infinity where all are NaN already, integers and booleans their
    complement. A second time it is another value again, so that what a run never writes can't be
    right both times, whatever is expected.
    """
    match array.dtype.kind:
        case "f" | "c":
            array.fill(-np.inf if np.isnan(array).all() else np.nan)
        case _:
            np.invert(array, out=array)


def closed() -> NoReturn:
    """What `run` is once a lane is closed."""
    raise RunFault("the session is closed", "compile the model again")


def refuse_unfit(inputs: Arrays, expected: Mapping[str, tuple[tuple[int, ...], np.dtype]]) -> None:
    """Unsupported for inputs of other names, shapes or types; texts may have any length."""
    if inputs.keys() != expected.keys():
        names, input_list = ", ".join(expected), ", ".join(inputs)
        raise Unsupported(f"the graph's inputs are {names}", f"give these, not {input_list}")
    for name, (shape, dtype) in expected.items():
        array = inputs[name]
        fits = array.dtype == dtype or array.dtype.kind == dtype.kind == "U"
        if array.shape != shape or not fits:
            raise Unsupported(
                f"input {name!r} is {array.dtype} {list(array.shape)}",
                f"the session was compiled for {dtype} {list(shape)}",
            )


class HostLane(Lane):
    """Input and output buffers by name; `output_buffers` may lack what the engine allocates.

    An output that is an input of the graph has that input's own buffer: an engine that returns it
    copies nothing. Its session closes the lane.
    """

    run: Callable[[], object]

    def __init__(
        self,
        input_buffers: Mapping[str, np.ndarray],
        output_buffers: Mapping[str, np.ndarray],
        states: tuple[StatePair, ...],
    ) -> None:
        self.input_buffers = dict(input_buffers)
        self.output_buffers = dict(output_buffers)
        self._states = states

    def bind(self, inputs: Arrays) -> None:
        refuse_unfit(inputs, {n: (b.shape, b.dtype) for n, b in self.input_buffers.items()})
        for name, buffer in self.input_buffers.items():
            np.copyto(buffer, inputs[name])

    def feed(self, inputs: Arrays) -> None:
        for name, array in inputs.items():
            np.copyto(self.input_buffers[name], array)

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: buffer.copy() for name, buffer in self.output_buffers.items()}

    def poison(self) -> None:
        # Two outputs may be one: poisoned twice, integers would be as before.
        written_buffers = {
            id(b): b for name, b in self.output_buffers.items() if not self._is_input(name)
        }
        for buffer in written_buffers.values():
            poison(buffer)

    def advance(self) -> None:
        # A copy, not a swap of buffers: engines keep what they derived from an address, and
        # the copy is outside the clock. All are read before any is written: a state may be the
        # next value of another one.
        following = [
            self.output_buffers[pair.output].copy()
            if self._is_input(pair.output)
            else self.output_buffers[pair.output]
            for pair in self._states
        ]
        for pair, value in zip(self._states, following, strict=True):
            np.copyto(self.input_buffers[pair.input], value)

    def advancing(self) -> tuple[Copy, ...] | None:
        if any(self._is_input(pair.output) for pair in self._states):
            return None
        return tuple(
            Copy(self.input_buffers[pair.input], self.output_buffers[pair.output])
            for pair in self._states
        )

    def feeding(self, inputs: Arrays) -> tuple[Copy, ...] | None:
        return tuple(
            Copy(self.input_buffers[name], np.ascontiguousarray(array))
            for name, array in inputs.items()
        )

    def _is_input(self, output: str) -> bool:
        buffer = self.output_buffers[output]
        return any(buffer is input_buffer for input_buffer in self.input_buffers.values())

    def close(self) -> None:
        """Drop the buffers; a run is refused from now on."""
        self.run = self.enqueue = closed
        self.input_buffers.clear()
        self.output_buffers.clear()
        self._states = ()
