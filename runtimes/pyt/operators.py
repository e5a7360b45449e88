"""The times of operators of a torch module, from torch's own profiler.

An operator is what a module calls, such as `aten::linear`; what that calls in turn is in its
time, and the part of it that takes longest is the engine's name for the work. On a GPU both
are those of the kernels that it launched, whenever they ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from statistics import median

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from runtimes.execution import OpTime
from runtimes.faults import Unsupported

_MODULE = "graphlap module "
_RUN = "graphlap run"


def op_times(
    run: Callable[[], object], module: torch.nn.Module | None, runs: int, on_gpu: bool = False
) -> tuple[OpTime, ...]:
    """The median time of each operator over `runs` runs, in the order of execution.

    `module` names the nodes; None for a compiled one, whose kernels have names of their own.
    With `on_gpu` the times are the device's; Unsupported if the profiler does not tell them.
    """
    watched = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
    with ExitStack() as hooks:
        if module is not None:
            _name_modules(module, hooks)
        run()
        with profile(activities=watched) as profiler:
            for _ in range(runs):
                with record_function(_RUN):
                    run()
    return medians(profiler.events() or (), on_gpu)


def medians(events: Iterable[FunctionEvent], on_gpu: bool) -> tuple[OpTime, ...]:
    """The median time of each operator over the runs in the profiler's `events`."""
    spent_us: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for event in events:
        if event.name == _RUN:
            for position, (scope, op) in enumerate(_operators(event, "")):
                time_us, longest = _on_gpu(op) if on_gpu else _on_host(op)
                if on_gpu and not longest:
                    continue
                # The same operator of the same module in each run, by where it comes in it.
                key = (f"{scope or 'module'} #{position}", op.name)
                spent_us.setdefault(key, []).append((time_us, longest))
    if on_gpu and not spent_us:
        raise Unsupported(
            "PyTorch's profiler reported no kernel on the GPU",
            "end other profilers of the GPU, and see what CUPTI wrote to the standard error",
        )
    return tuple(
        OpTime(node, op.removeprefix("aten::"), median(us for us, _ in told), told[-1][1])
        for (node, op), told in spent_us.items()
    )


def _name_modules(module: torch.nn.Module, hooks: ExitStack) -> None:
    """Let each module tell the profiler when it begins and ends."""
    open_scopes: list[AbstractContextManager[object]] = []

    def enter(name: str) -> Callable[..., None]:
        def hook(*_: object) -> None:
            open_scopes.append(record_function(_MODULE + name))
            open_scopes[-1].__enter__()

        return hook

    def leave(*_: object) -> None:
        open_scopes.pop().__exit__(None, None, None)

    for name, part in module.named_modules():
        if name:
            hooks.callback(part.register_forward_pre_hook(enter(name)).remove)
            hooks.callback(part.register_forward_hook(leave).remove)


def _operators(event: FunctionEvent, scope: str) -> Iterator[tuple[str, FunctionEvent]]:
    """The operators called directly by modules, each with the innermost module's name."""
    for child in _in_order(event.cpu_children):
        if child.name.startswith(_MODULE):
            yield from _operators(child, child.name.removeprefix(_MODULE))
        elif child.name.startswith("Torch-Compiled Region") or child.name.startswith("## Call"):
            yield from _operators(child, scope)
        else:
            yield scope, child


def _on_host(op: FunctionEvent) -> tuple[float, str]:
    """What an operator takes, and which of all that it calls spends most time itself."""
    return op.cpu_time_total, max(_with_called(op), key=lambda one: one.self_cpu_time_total).name


def _on_gpu(op: FunctionEvent) -> tuple[float, str]:
    """What the kernels take that an operator launched, and the longest; "" if there are none."""
    kernels = [kernel for one in _with_called(op) for kernel in one.kernels]
    longest = max(kernels, key=lambda kernel: kernel.duration, default=None)
    return sum(kernel.duration for kernel in kernels), longest.name if longest else ""


def _with_called(op: FunctionEvent) -> list[FunctionEvent]:
    """The operator and all that it calls."""
    everything, left = [op], [op]
    while left:
        children = left.pop().cpu_children
        everything += children
        left += children
    return everything


def _in_order(events: Iterable[FunctionEvent]) -> list[FunctionEvent]:
    return sorted(events, key=lambda event: event.time_range.start)
