"""One torch module with its input tensors over host buffers of ours, ready to be timed."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch

from runtimes.execution import Execution, OpTime
from runtimes.faults import (
    CompileFault,
    NotAvailable,
    OutOfMemory,
    RunFault,
    RuntimeFault,
    Unsupported,
)
from runtimes.options import Settings
from runtimes.pyt.module import build_module, out_of_memory
from runtimes.request import Request
from runtimes.session.host import HostSession, input_buffers
from runtimes.session.host_cpu import cpu_name

_PRECISIONS = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
}


class TorchSession(HostSession):
    """Eager torch makes new output tensors in each run: that is its nature, and is timed."""

    def __init__(self, request: Request) -> None:
        model, settings = request.model, request.settings
        compiled = request.options["mode"] == "compile"
        assert model.factory is not None
        super().__init__(input_buffers(request), {}, model.states)
        if settings.threads:
            torch.set_num_threads(settings.threads)
        torch.set_float32_matmul_precision("highest")
        self._open = True
        self._threads = settings.threads
        self._compiled = compiled
        module: Any = build_module(model.factory)
        precision = module_precision(module, self._inputs.values())
        shared_process.enter()
        try:
            tensors = {name: torch.from_numpy(array) for name, array in self._inputs.items()}
            if compiled:
                module = compile_module(module, tuple(tensors.values()), settings)
        except BaseException:
            self.close()
            raise
        self._result: list[Any] = [None]
        self._output_names = [spec.name for spec in model.outputs]
        self._feedback = [
            (tensors[pair.input], self._output_names.index(pair.output)) for pair in model.states
        ]
        # Only an eager module has parts of its own to name in a profile.
        self._module = None if compiled else module
        self._profiled = settings.profile
        self.run = _timed_call(module, tuple(tensors.values()), self._result)
        self.execution = Execution(
            provider="inductor" if compiled else "eager",
            precision=precision,
            device_name=cpu_name(),
            call_path="compiled module(*inputs)" if compiled else "module(*inputs)",
        )

    def outputs(self, slot: int = 0) -> dict[str, np.ndarray]:
        self._only_slot(slot)
        tensors = flat(self._result[0])
        if not tensors:
            return {}
        if len(tensors) != len(self._output_names):
            raise RunFault(
                f"the module returned {len(tensors)} tensors for {len(self._output_names)} outputs",
                "return them in the order of the graph's outputs",
            )
        named = zip(self._output_names, tensors, strict=True)
        return {name: tensor.detach().numpy().copy() for name, tensor in named}

    def poison(self, slot: int = 0) -> None:
        # The tensors are not ours to overwrite, a module may return its input: they are dropped.
        self._only_slot(slot)
        self._result[0] = None

    def advance_state(self, slot: int = 0) -> None:
        self._only_slot(slot)
        tensors = flat(self._result[0])
        # Cloned first: a module that shifts its history returns one state as the next.
        following = [tensors[index].clone() for _, index in self._feedback]
        for (state, _), value in zip(self._feedback, following, strict=True):
            state.copy_(value)

    def enter(self, slot: int = 0) -> None:
        self._only_slot(slot)
        if self._threads:
            torch.set_num_threads(self._threads)
        shared_process.enter_thread()

    def profile_ops(self, runs: int) -> tuple[OpTime, ...]:
        from runtimes.pyt.operators import op_times

        if not self._profiled:
            return super().profile_ops(runs)
        return op_times(self.run, self._module, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        if out_of_memory(error):
            return OutOfMemory("PyTorch ran out of memory in a run", "use a smaller batch")
        return RunFault(f"the torch module failed in a run ({first_line(error)})")

    def close(self) -> None:
        super().close()
        self._result = [None]
        self._module = None
        self._feedback = []
        if self._open:
            self._open = False
            shared_process.leave(self._compiled)


class _Process:
    """What all torch sessions of a process share, held from the first to the last of them.

    Inference mode is entered once and not around each call, as a serving loop does it: the
    guard would cost more than a small layer. It holds for one thread, so that any other that
    is to run a session enters it too, for as long as that thread lives.
    """

    def __init__(self) -> None:
        self._sessions = 0
        self._compiled = False
        self._held = ExitStack()
        self._threads = threading.local()

    def enter(self) -> None:
        if not self._sessions:
            self._held.enter_context(torch.inference_mode())
        self._sessions += 1

    def enter_thread(self) -> None:
        # The guard is ended by its thread's end, which drops it: it must not be dropped earlier.
        if not torch.is_inference_mode_enabled():
            self._threads.guard = torch.inference_mode()
            self._threads.guard.__enter__()

    def leave(self, compiled: bool) -> None:
        self._sessions -= 1
        self._compiled |= compiled
        if not self._sessions:
            self._held.close()
            if self._compiled:
                torch.compiler.reset()
                self._compiled = False


shared_process = _Process()


def _timed_call(
    module: Callable[..., Any], inputs: tuple[torch.Tensor, ...], result: list[Any]
) -> Callable[[], object]:
    def run() -> None:
        result[0] = module(*inputs)

    return run


def compile_module(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], settings: Settings
) -> Callable[..., Any]:
    """The module compiled whole for these shapes; its first call, here, does the work."""
    import torch._dynamo as dynamo
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
    config.cpp.enable_kernel_profile = settings.profile
    compiled = torch.compile(module, fullgraph=True, dynamic=False)
    try:
        compiled(*inputs)
    except (dynamo.exc.Unsupported, dynamo.exc.UserError) as error:
        raise Unsupported(
            f"torch.compile cannot take the module whole ({first_line(error)})",
            "use mode=eager",
        ) from error
    except Exception as error:
        if out_of_memory(error):
            raise OutOfMemory("PyTorch ran out of memory", "use a smaller batch") from error
        raise CompileFault(
            f"torch.compile failed ({first_line(error)})", "use mode=eager"
        ) from error
    return compiled


def module_precision(module: torch.nn.Module, inputs: Iterable[np.ndarray]) -> str:
    """The float type of the weights, or of the inputs where there are none.

    Eager and compiled torch compute in the type of the tensors: autocast is off and matrix
    products of float32 were just set to full precision.
    """
    tensors = (*module.parameters(), *module.buffers())
    found = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    found = found or {torch.from_numpy(a).dtype for a in inputs if a.dtype.kind == "f"}
    return "+".join(sorted(_PRECISIONS.get(dtype, str(dtype)) for dtype in found)) or "integer"


def flat(result: Any) -> tuple[torch.Tensor, ...]:
    """What a module returned, in order; empty for None."""
    if result is None:
        return ()
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def first_line(error: Exception) -> str:
    """The sentence that matters: torch's compiler wraps it in one of its own."""
    error = getattr(error, "inner_exception", error)
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
