"""Session of a torch module on the CPU: built from its factory, eager or compiled into one graph,
with operator times from torch's profiler.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from exporters import install_layout
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.module_adapter import Call
from exporters.types import Factory, Precision
from exporters.user_module import bring, is_brought
from runtimes.base import Session
from runtimes.errors import (
    CompileFault,
    NotAvailable,
    OutOfMemory,
    RuntimeFault,
    Unsupported,
    tells_of_no_memory,
)
from runtimes.execution import Execution, OpTime
from runtimes.options import Request, Settings
from runtimes.pytorch.lane import (
    Args,
    Kwargs,
    Result,
    TorchLane,
    copied_inputs,
    ends_of,
    module_in_layout,
    plain,
    run_fault,
    shared_process,
)
from runtimes.session.precision import cpu_name, multiplies_bf16


def compile_module(
    module: torch.nn.Module,
    args: Args,
    kwargs: Kwargs,
    settings: Settings,
    dynamic: bool | None = False,
    mode: str | None = None,
) -> Callable[..., Result]:
    """The module compiled whole for these shapes; its first call, here, does the work.

    With `dynamic` None a call with another shape compiles again, as torch decides. `mode` is
    torch.compile's; Unsupported for CUDA graphs of its own that it then does without.
    """
    import torch._dynamo as dynamo
    from torch._dynamo.utils import counters
    from torch._inductor import config

    compilers = [name for name in config.cpp.cxx if name is not None]
    if not any(map(shutil.which, compilers)):
        raise NotAvailable(
            f"torch.compile needs the C++ compiler {compilers[0]}",
            f"install {compilers[0]}, or set CXX to another",
        )
    if settings.cache_dir:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(settings.cache_dir) / "inductor")
    # An LSTM would be left eager without a word; and no pool of compiling processes may
    # outlive the compilation.
    dynamo.config.allow_rnn = True
    config.compile_threads = 1
    config.cpp.enable_kernel_profile = settings.operator_times
    _keep_progress_bars_from_their_thread()
    compiled_module = torch.compile(module, fullgraph=True, dynamic=dynamic, mode=mode)
    skips_before = counters["inductor"]["cudagraph_skips"]
    try:
        compiled_module(*args, **kwargs)
    except (dynamo.exc.Unsupported, dynamo.exc.UserError) as error:
        raise Unsupported(
            f"torch.compile cannot take the module whole ({plain(error)})",
            "use mode=eager",
        ) from error
    except Exception as error:
        if tells_of_no_memory(error):
            raise OutOfMemory("PyTorch ran out of memory", "use a smaller batch") from error
        raise CompileFault(f"torch.compile failed ({plain(error)})", "use mode=eager") from error
    if counters["inductor"]["cudagraph_skips"] > skips_before:
        raise Unsupported(
            "torch.compile records no CUDA graph of this module, and runs it without a word",
            f"use mode=compile in place of {mode}",
        )
    return compiled_module


def _keep_progress_bars_from_their_thread() -> None:
    """torch shows how far it is where tqdm is installed, and its thread wakes up beside a clock."""
    with suppress(ImportError):
        import_module("tqdm").tqdm.monitor_interval = 0


_PRECISIONS = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
}


@dataclass(frozen=True, slots=True)
class Built:
    """A module, and how it is called; None for one that takes its tensors by position."""

    module: torch.nn.Module
    call: Call | None

    def arguments(self, tensors: Sequence[torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the module is called with, so that it computes on these tensors."""
        return (tuple(tensors), {}) if self.call is None else self.call.arguments(tensors)


def build_module(factory: Factory) -> Built:
    """The module in evaluation mode; CompileFault or OutOfMemory if it cannot be built."""
    call = None
    try:
        if is_brought(factory.target):
            user_model = bring(factory.target, factory.seed)
            module, call = user_model.module, user_model.call
        else:
            torch.manual_seed(factory.seed)
            module = install_layout.load(factory.target)(**factory.arguments)
        if factory.weights is not None:
            from safetensors.torch import load_file

            module.load_state_dict(load_file(factory.weights))
    except Exception as error:
        if tells_of_no_memory(error):
            raise OutOfMemory("PyTorch ran out of memory", "use a smaller model") from error
        raise CompileFault(
            f"the torch module of {factory.target} could not be built ({error})",
            "check that it is still the one that was exported",
        ) from error
    return Built(module.eval(), call)


def in_precision(module: torch.nn.Module, precision: Precision) -> torch.nn.Module:
    """The module with all of its floats in that type; as it is for fp32.

    What is finite stays finite: the lowest float32, with which attention is masked, would be
    minus infinity.
    """
    narrow = next((dtype for dtype, name in _PRECISIONS.items() if name == precision), None)
    if narrow not in (torch.float16, torch.bfloat16):
        return module
    largest = torch.finfo(narrow).max
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point() and tensor.numel():
                low, high = tensor.aminmax()
                if not (low >= -largest and high <= largest):
                    clamped = tensor.clamp(-largest, largest)
                    tensor.copy_(torch.where(tensor.isfinite(), clamped, tensor))
    return module.to(narrow)


def module_precision(module: torch.nn.Module, inputs: Iterable[torch.Tensor]) -> str:
    """The float type of the weights, or of the inputs where there are none.

    Eager and compiled torch compute in the type of the tensors: autocast is off and matrix
    products of float32 were just set to full precision.
    """
    tensors = (*module.parameters(), *module.buffers())
    float_types = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    float_types = float_types or {tensor.dtype for tensor in inputs if tensor.is_floating_point()}
    return (
        "+".join(sorted(_PRECISIONS.get(dtype, str(dtype)) for dtype in float_types)) or "integer"
    )


_MODULE = "graphlap module "
_RUN = "graphlap run"


def op_times(
    run: Callable[[], object], module: torch.nn.Module | None, runs: int, on_gpu: bool = False
) -> tuple[OpTime, ...]:
    """The median time of each operator over `runs` runs, in the order of execution.

    `module` names the nodes; None for a compiled one, whose kernels have names of their own.
    With `on_gpu` the times are the device's; Unsupported if the profiler does not tell them.
    """
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
    with ExitStack() as hooks:
        if module is not None:
            _name_modules(module, hooks)
        run()
        with profile(activities=activities) as profiler:
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
        OpTime(
            node, op.removeprefix("aten::"), median(us for us, _ in occurrences), occurrences[-1][1]
        )
        for (node, op), occurrences in spent_us.items()
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
    for child in sorted(event.cpu_children, key=lambda child: child.time_range.start):
        if child.name.startswith(_MODULE):
            yield from _operators(child, child.name.removeprefix(_MODULE))
        elif child.name.startswith("Torch-Compiled Region") or child.name.startswith("## Call"):
            yield from _operators(child, scope)
        else:
            yield scope, child


def _on_host(op: FunctionEvent) -> tuple[float, str]:
    """What an operator takes, and which of all that it calls spends most time itself."""
    return op.cpu_time_total, max(
        _with_called(op), key=lambda event: event.self_cpu_time_total
    ).name


def _on_gpu(op: FunctionEvent) -> tuple[float, str]:
    """What the kernels take that an operator launched, and the longest; "" if there are none."""
    kernels = [kernel for event in _with_called(op) for kernel in event.kernels]
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


class TorchSession(Session):
    """The module on the CPU, eager or compiled, as one lane, or one for each shape."""

    def __init__(self, requests: Sequence[Request]) -> None:
        request = requests[0]
        model, settings = request.model, request.settings
        assert model.factory is not None
        is_compiled = request.options["mode"] == "compile"
        if settings.threads:
            torch.set_num_threads(settings.threads)
        torch.set_float32_matmul_precision("highest")
        loaded_module = build_module(model.factory)
        module = in_precision(loaded_module.module, settings.precision)
        module = module_in_layout(module, bool(request.options["channels_last"]))
        with ExitStack() as resources:
            shared_process.enter()
            resources.callback(shared_process.leave, is_compiled)
            lanes = tuple(map(TorchLane, requests))
            ends = [ends_of(r, lane.inputs) for r, lane in zip(requests, lanes, strict=True)]
            read = [
                lane.inputs if end is None else end.inside
                for lane, end in zip(lanes, ends, strict=True)
            ]
            arguments_by_lane = [loaded_module.arguments(tensors) for tensors in read]
            # torch decides itself when it meets a second shape: to compile again, or for all.
            dynamic = None if len(lanes) > 1 else False
            call = (
                compile_module(module, *arguments_by_lane[0], settings, dynamic)
                if is_compiled
                else module
            )
            for lane, (args, kwargs), end in zip(lanes, arguments_by_lane, ends, strict=True):
                lane.time(call, args, kwargs, None if end is None else end.around)
            self._resources = resources.pop_all()
        self._lanes, self._lane = lanes, lanes[0]
        self.lanes = lanes[:1]
        self.by_shape = lanes if len(lanes) > 1 else ()
        # Only an eager module has parts of its own to name as operators.
        self._module = None if is_compiled else module
        self._tells = settings.operator_times
        self.execution = Execution(
            provider="inductor" if is_compiled else "eager",
            precision=module_precision(module, read[0]),
            device_name=cpu_name(),
            call_path="compiled module(*inputs)" if is_compiled else "module(*inputs)",
            warnings=(*_doubts(settings.precision), *copied_inputs(request)),
        )

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:

        if not self._tells:
            return super().operator_times(runs)
        return op_times(self._lane.run, self._module, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()
        self._module = None
        self._resources.close()


def _doubts(precision: Precision) -> tuple[Diagnostic, ...]:
    if precision != "bf16" or multiplies_bf16():
        return ()
    return (diagnostic("bf16_emulated"),)
