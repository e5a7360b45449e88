"""One torch module with its input tensors over host buffers of ours, ready to be timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from exporters.calling import named_outputs
from runtimes.faults import RunFault
from runtimes.pyt.layout import dimensions_in_memory, made_in_layout
from runtimes.pyt.process import shared_process
from runtimes.request import Request
from runtimes.session.host import HostLane, aligned_empty, tensor_dtype

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
        around: Around | None = None,
    ) -> None:
        """Let a run be one call of `module` with these arguments, which come of the lane's inputs.

        `around` makes of that call one with what belongs to a run besides.
        """
        result = self._result
        if around is not None:
            module, args, kwargs = around(partial(module, *args, **kwargs)), (), {}

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
        named = zip(self._output_names, checked(tensors, self._output_names), strict=True)
        return {name: tensor.detach().numpy().copy() for name, tensor in named}

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

    def made(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        def zeros(stored: tuple[int, ...]) -> torch.Tensor:
            return torch.from_numpy(aligned_empty(stored, dtype)).zero_()

        order = dimensions_in_memory(shape, dtype, bool(request.options["channels_last"]))
        array: np.ndarray = made_in_layout(zeros, shape, order).numpy()
        return array

    inputs = request.model.inputs
    return {spec.name: made(request.shapes[spec.name], tensor_dtype(spec)) for spec in inputs}


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
