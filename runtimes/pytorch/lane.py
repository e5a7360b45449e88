"""Lane of a torch module over host buffers: memory layout, process-wide settings, casts around the
module, and torch's errors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.module_adapter import is_row, named_outputs
from exporters.types import first_line
from runtimes.errors import OutOfMemory, RunFault, RuntimeFault, tells_of_no_memory
from runtimes.options import Request
from runtimes.session.host import HostLane, aligned_empty, tensor_dtype


def run_fault(error: Exception) -> RuntimeFault:
    """What a run raised, as OutOfMemory or RunFault; one of ours as it is."""
    if isinstance(error, RuntimeFault):
        return error
    if tells_of_no_memory(error):
        return OutOfMemory("PyTorch ran out of memory in a run", "use a smaller batch")
    return RunFault(f"the torch module failed in a run ({plain(error)})")


def plain(error: Exception) -> str:
    """The sentence that matters: torch's compiler wraps it in one of its own."""
    return first_line(getattr(error, "inner_exception", error))


class _Process:
    """What all torch sessions of a process share, held from the first to the last of them.

    Inference mode is entered once and not around each call, as a serving loop does it: the
    guard would cost more than a small layer. It holds for one thread, so that any other that
    is to run a session enters it too, for as long as that thread lives.
    """

    def __init__(self) -> None:
        self._sessions = 0
        self._is_compiled = False
        self._resources = ExitStack()
        self._threads = threading.local()

    def enter(self) -> None:
        if not self._sessions:
            self._resources.enter_context(torch.inference_mode())
        self._sessions += 1

    def enter_thread(self) -> None:
        # The guard is ended by its thread's end, which drops it: it must not be dropped earlier.
        if not torch.is_inference_mode_enabled():
            self._threads.guard = torch.inference_mode()
            self._threads.guard.__enter__()

    def leave(self, compiled: bool) -> None:
        self._sessions -= 1
        self._is_compiled |= compiled
        if not self._sessions:
            self._resources.close()
            if self._is_compiled:
                torch.compiler.reset()
                self._is_compiled = False


shared_process = _Process()


_PICTURES = 4
_CHANNELS_LAST = (0, 2, 3, 1)


def module_in_layout(module: torch.nn.Module, channels_last: bool) -> torch.nn.Module:
    """The module with its weights in that layout."""
    if not channels_last:
        return module
    laid_out: torch.nn.Module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return laid_out


def dimensions_in_memory(
    shape: Sequence[int], dtype: np.dtype, channels_last: bool
) -> tuple[int, ...]:
    """The dimensions of a tensor in the order of its bytes, the outermost first."""
    if channels_last and len(shape) == _PICTURES and dtype.kind == "f":
        return _CHANNELS_LAST
    return tuple(range(len(shape)))


def made_in_layout(
    make: Callable[[tuple[int, ...]], torch.Tensor], shape: Sequence[int], order: Sequence[int]
) -> torch.Tensor:
    """What `make` makes, seen in this shape, its bytes being in that order of dimensions."""
    storage = make(tuple(shape[place] for place in order))
    return storage.permute([order.index(place) for place in range(len(order))])


def are_same_bytes(source: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a copy of the one into the other is a copy of its bytes as they lie."""
    dense = source.is_contiguous() or source.is_contiguous(memory_format=torch.channels_last)
    return source.stride() == other.stride() and dense


Result = Any
"""What a module returned, of any form; None before the first run."""
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Around = Callable[[Callable[[], Result]], Callable[[], Result]]


class TorchLane(HostLane):
    """Eager torch makes new output tensors in each run: that is its nature, and is timed."""

    def __init__(self, request: Request) -> None:
        model = request.model
        super().__init__(_input_buffers(request), {}, model.states)
        tensors = {name: torch.from_numpy(array) for name, array in self.input_buffers.items()}
        self.inputs = tuple(tensors.values())
        self._threads = request.settings.threads
        self._result: list[Result] = [None]
        self._output_names = [spec.name for spec in model.outputs]
        self._feedback = [
            (tensors[pair.input], self._output_names.index(pair.output)) for pair in model.states
        ]

    def time(
        self,
        module: Callable[..., Result],
        args: Args,
        kwargs: Kwargs,
        wrap_call: Around | None = None,
    ) -> None:
        """Let a run be one call of `module` with these arguments, which come of the lane's inputs.

        `wrap_call` makes of that call one with what belongs to a run besides.
        """
        result = self._result
        if wrap_call is not None:
            module, args, kwargs = wrap_call(partial(module, *args, **kwargs)), (), {}

        def run() -> None:
            result[0] = module(*args)

        def run_with_keywords() -> None:
            result[0] = module(*args, **kwargs)

        self.run = run_with_keywords if kwargs else run

    def enter(self) -> None:
        if self._threads:
            torch.set_num_threads(self._threads)
        shared_process.enter_thread()

    def outputs(self) -> dict[str, np.ndarray]:
        tensors = flat(self._result[0])
        if not tensors:
            return {}
        named_tensors = zip(self._output_names, checked(tensors, self._output_names), strict=True)
        return {name: tensor.detach().numpy().copy() for name, tensor in named_tensors}

    def poison(self) -> None:
        # The tensors are not ours to overwrite, a module may return its input: they are dropped.
        self._result[0] = None

    def advance(self) -> None:
        feed_back(flat(self._result[0]), self._feedback)

    def close(self) -> None:
        super().close()
        self.inputs = ()
        self._result = [None]
        self._feedback = []


def _input_buffers(request: Request) -> dict[str, np.ndarray]:
    """Zeroed buffers for every input, in the layout that the case asks for."""

    def make_buffer(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        def zeros(stored: tuple[int, ...]) -> torch.Tensor:
            return torch.from_numpy(aligned_empty(stored, dtype)).zero_()

        order = dimensions_in_memory(shape, dtype, bool(request.options["channels_last"]))
        array: np.ndarray = made_in_layout(zeros, shape, order).numpy()
        return array

    inputs = request.model.inputs
    return {
        spec.name: make_buffer(request.shapes[spec.name], tensor_dtype(spec)) for spec in inputs
    }


def flat(result: Result) -> tuple[torch.Tensor, ...]:
    """The tensors that a module returned, in the order of the graph's outputs; none for None."""
    return tuple(named_outputs(result).values())


def row(result: Result) -> tuple[torch.Tensor, ...]:
    """As `flat`, in less time, for a module that returns one tensor or a tuple of them."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def checked(tensors: tuple[torch.Tensor, ...], names: list[str]) -> tuple[torch.Tensor, ...]:
    """The tensors; RunFault if the module returned another number than there are names."""
    if len(tensors) != len(names):
        raise RunFault(
            f"the module returned {len(tensors)} tensors for {len(names)} outputs",
            "return them in the order of the graph's outputs",
        )
    return tensors


def feed_back(outputs: tuple[torch.Tensor, ...], feedback: list[tuple[torch.Tensor, int]]) -> None:
    """Copy outputs, by number, into the states that they become."""
    # Cloned first: a module that shifts its history returns one state as the next.
    following = [outputs[index].clone() for _, index in feedback]
    for (state, _), value in zip(feedback, following, strict=True):
        state.copy_(value)


_WIDE, _NARROW = torch.float32, torch.bfloat16


class Ends:
    """`inside` are the tensors that the module reads: those of `outside`, renewed in each run."""

    def __init__(
        self, outside: Sequence[torch.Tensor], written_flags: Sequence[bool], narrow: bool
    ) -> None:
        self._narrow = narrow
        self.inside = tuple(
            tensor.to(_NARROW)
            if narrow and tensor.dtype is _WIDE
            else tensor.clone()
            if is_written
            else tensor
            for tensor, is_written in zip(outside, written_flags, strict=True)
        )
        pairs = zip(self.inside, outside, strict=True)
        self._pairs = [(inner, outer) for inner, outer in pairs if inner is not outer]

    def around(self, call: Callable[[], Result]) -> Callable[[], Result]:
        """`call` on the inputs as they are, in bfloat16 its outputs as float32."""
        pairs = self._pairs

        def run() -> Result:
            for inner_tensor, outer_tensor in pairs:
                inner_tensor.copy_(outer_tensor)
            return call()

        def run_narrow() -> Result:
            result = run()
            tensors = row(result) if is_row(result) else flat(result)
            return tuple(t.to(_WIDE) if t.dtype is _NARROW else t for t in tensors)

        return run_narrow if self._narrow else run


def ends_of(request: Request, outside: Sequence[torch.Tensor]) -> Ends | None:
    """What lies around the module of this request; None where it reads the lane's own tensors."""
    model, narrow = request.model, request.settings.precision == "bf16"
    written_flags = [spec.name in model.written_inputs for spec in model.inputs]
    return Ends(outside, written_flags, narrow) if narrow or any(written_flags) else None


def copied_inputs(request: Request) -> tuple[Diagnostic, ...]:
    """The diagnostic of runs that copy inputs first; () where none is copied."""
    written_names = request.model.written_inputs
    return (diagnostic("inputs_copied", inputs=written_names),) if written_names else ()
