"""One torch module on a GPU, its inputs in pinned host memory and on the device.

At the host's boundary a run copies in, computes, copies out and waits for the stream; at the
device's it computes and waits. What is the GPU's own is in `CudaPlace`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch

from exporters.types import ExportedModel
from runtimes.base import Arrays
from runtimes.cuda.options import stated
from runtimes.execution import Execution, Memory, OpTime, Spans
from runtimes.faults import CompileFault, OutOfMemory, RunFault, RuntimeFault, Unsupported
from runtimes.options import Settings
from runtimes.pyt.module import build_module, out_of_memory
from runtimes.pyt.session import compile_module, first_line, flat, module_precision, shared_process
from runtimes.request import Request
from runtimes.session.host import HostSession, tensor_dtype

Part = Callable[[], object]
_RECORDING_WARM_UP = 3


class Place(Protocol):
    """Where tensors live and how one waits for them."""

    name: str
    device: torch.device
    compute_capability: tuple[int, int]
    synchronize: Part

    def make_current(self) -> None:
        """Let what the calling thread computes from now on go here."""

    def host_tensor(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Host memory that the device copies by itself."""

    def record(self, call: Callable[[], Any]) -> tuple[Part, Any]:
        """A replay of `call` as one graph, and the result that every replay writes."""

    def times_ns(self, parts: Sequence[Part], runs: int) -> np.ndarray:
        """The device's time of each part in each run, int64 [parts, runs]."""

    def peak_bytes(self) -> int | None: ...

    def release(self) -> None: ...


class CudaPlace:
    """One GPU through torch.cuda, with a stream of its own, so that sessions do not queue up."""

    def __init__(self, index: int) -> None:
        self.device = torch.device("cuda", index)
        self._stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self.make_current()
        self.name = torch.cuda.get_device_name(self.device)
        self.compute_capability = torch.cuda.get_device_capability(self.device)
        self.synchronize: Part = self._stream.synchronize

    def make_current(self) -> None:
        torch.cuda.set_device(self.device)
        torch.cuda.set_stream(self._stream)

    def host_tensor(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, pin_memory=True)

    def record(self, call: Callable[[], Any]) -> tuple[Part, Any]:
        for _ in range(_RECORDING_WARM_UP):
            call()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            result = call()
        return graph.replay, result

    def times_ns(self, parts: Sequence[Part], runs: int) -> np.ndarray:
        marks = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(len(parts) + 1)
        ]
        times = np.zeros((len(parts), runs), np.int64)
        for index in range(runs):
            marks[0].record()
            for part, mark in zip(parts, marks[1:], strict=True):
                part()
                mark.record()
            self.synchronize()
            for number in range(len(parts)):
                milliseconds = marks[number].elapsed_time(marks[number + 1])
                times[number, index] = round(milliseconds * 1e6)
        return times

    def peak_bytes(self) -> int | None:
        return torch.cuda.max_memory_allocated(self.device)

    def release(self) -> None:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)


class TorchCudaSession(HostSession):
    """The arrays are views of the host tensors, so what is bound is what the device copies."""

    def __init__(self, request: Request, place: Place) -> None:
        model, settings, options = request.model, request.settings, request.options
        assert model.factory is not None
        self._host_inputs = [
            place.host_tensor(request.shapes[spec.name], _torch_dtype(tensor_dtype(spec)))
            for spec in model.inputs
        ]
        names = [spec.name for spec in model.inputs]
        arrays = {n: t.numpy() for n, t in zip(names, self._host_inputs, strict=True)}
        super().__init__(arrays, {}, model.states)
        self._place = place
        self._output_names = [spec.name for spec in model.outputs]
        self._on_host = options["boundary"] == "host"
        self._result: list[Any] = [None]
        self._host_outputs: list[torch.Tensor] = []
        self._device_inputs: list[torch.Tensor] = []
        self._feedback: list[tuple[torch.Tensor, int]] = []
        self._compute: Part = _nothing
        # What a recorded graph replays has no operators to name.
        self._recorded = bool(options["cuda_graph"]) and not settings.profile
        self._compiled = options["mode"] == "compile"
        self._module: torch.nn.Module | None = None
        self._profiled = settings.profile
        self._open = True
        _set_precision(tf32=bool(options["tf32"]))
        shared_process.enter()
        try:
            precision = self._prepare(model, settings)
        except BaseException:
            self.close()
            raise
        self.execution = Execution(
            provider="inductor" if self._compiled else "eager",
            precision=stated(precision, bool(options["tf32"]), place.compute_capability),
            device_name=place.name,
            call_path=("graph.replay()" if self._recorded else "module(*inputs)")
            + ", stream.synchronize()",
            clock="device" if settings.profile and self._on_gpu else "wall",
            boundary="host" if self._on_host else "device",
        )

    @property
    def _on_gpu(self) -> bool:
        return self._place.device.type == "cuda"

    def bind(self, inputs: Arrays, slot: int = 0) -> None:
        super().bind(inputs, slot)
        self._place.make_current()
        self._copy_in()
        self._place.synchronize()

    def outputs(self, slot: int = 0) -> dict[str, np.ndarray]:
        self._only_slot(slot)
        if not self._on_host and self._result[0] is not None:
            self._place.make_current()
            self._copy_out()
            self._place.synchronize()
        return super().outputs(slot) if self._on_host or self._result[0] is not None else {}

    def poison(self, slot: int = 0) -> None:
        super().poison(slot)
        if self._recorded:
            # A recorded graph writes the same tensors in each replay: those are ours to spoil,
            # but for an input that the module returns as it is.
            self._place.make_current()
            kept = {tensor.data_ptr() for tensor in self._device_inputs}
            for tensor, host in zip(flat(self._result[0]), self._host_outputs, strict=True):
                if tensor.data_ptr() not in kept:
                    tensor.copy_(host)
            self._place.synchronize()
        elif not self._on_host:
            self._result[0] = None

    def advance_state(self, slot: int = 0) -> None:
        if self._on_host:
            super().advance_state(slot)
            return
        self._only_slot(slot)
        tensors = flat(self._result[0])
        # Cloned first: a module that shifts its history returns one state as the next.
        following = [tensors[index].clone() for _, index in self._feedback]
        for (state, _), value in zip(self._feedback, following, strict=True):
            state.copy_(value)
        self._place.synchronize()

    def enter(self, slot: int = 0) -> None:
        self._only_slot(slot)
        shared_process.enter_thread()
        self._place.make_current()

    def spans(self, runs: int) -> Spans:
        if not self._on_host:
            (device,) = self._place.times_ns([self._compute], runs)
            return Spans(device)
        parts = [self._copy_in, self._compute, self._copy_out]
        h2d, device, d2h = self._place.times_ns(parts, runs)
        return Spans(device, h2d, d2h)

    def profile_ops(self, runs: int) -> tuple[OpTime, ...]:
        from runtimes.pyt.operators import op_times

        if not self._profiled:
            return super().profile_ops(runs)
        return op_times(self.run, self._module, runs, self._on_gpu)

    def memory(self) -> Memory:
        return Memory(self._place.peak_bytes(), of_process=True)

    def fault(self, error: Exception) -> RuntimeFault:
        if isinstance(error, RuntimeFault):
            return error
        if out_of_memory(error):
            return OutOfMemory("PyTorch ran out of memory in a run", "use a smaller batch")
        return RunFault(f"the torch module failed in a run ({first_line(error)})")

    def close(self) -> None:
        super().close()
        self._result, self._feedback = [None], []
        self._host_inputs, self._host_outputs, self._device_inputs = [], [], []
        self._module = None
        self._compute = _nothing
        if self._open:
            self._open = False
            shared_process.leave(self._compiled)
            self._place.release()

    def _prepare(self, model: ExportedModel, settings: Settings) -> str:
        """Module and inputs onto the device, the first run, the outputs; gives the precision."""
        assert model.factory is not None
        device = self._place.device
        try:
            module: Any = build_module(model.factory)
            module = (module.half() if settings.precision == "fp16" else module).to(device)
            self._device_inputs = [tensor.to(device) for tensor in self._host_inputs]
            inputs = tuple(self._device_inputs)
            # Kernels of a GPU are known by their names, so a profile runs the code that was timed.
            plain = replace(settings, profile=False)
            call: Any = compile_module(module, inputs, plain) if self._compiled else module
            # Only an eager module has parts of its own to name in a profile.
            self._module = None if self._compiled else module
            result, self._result[0] = self._result, call(*inputs)
            self._place.synchronize()
            if self._recorded:
                self._compute, result[0] = self._record(lambda: call(*inputs))
            else:

                def compute() -> None:
                    result[0] = call(*inputs)

                self._compute = compute
        except RuntimeError as error:
            if out_of_memory(error):
                raise OutOfMemory("the GPU's memory is too small", "use a smaller batch") from error
            raise CompileFault(f"the torch module failed ({first_line(error)})") from error
        tensors = flat(result[0])
        if len(tensors) != len(self._output_names):
            raise RunFault(
                f"the module returned {len(tensors)} tensors for {len(self._output_names)} outputs",
                "return them in the order of the graph's outputs",
            )
        self._host_outputs = [self._place.host_tensor(tuple(t.shape), t.dtype) for t in tensors]
        for name, host in zip(self._output_names, self._host_outputs, strict=True):
            self._outputs[name] = host.numpy()
        inputs_by_name = dict(zip(self._inputs, self._device_inputs, strict=True))
        self._feedback = [
            (inputs_by_name[pair.input], self._output_names.index(pair.output))
            for pair in model.states
        ]
        self.run = self._run_on_host if self._on_host else self._run_on_device
        return module_precision(module, self._inputs.values())

    def _record(self, call: Callable[[], Any]) -> tuple[Part, Any]:
        try:
            return self._place.record(call)
        except RuntimeError as error:
            raise Unsupported(
                f"the module cannot be recorded as a CUDA graph ({first_line(error)})",
                "set cuda_graph=0",
            ) from error

    def _run_on_host(self) -> None:
        self._copy_in()
        self._compute()
        self._copy_out()
        self._place.synchronize()

    def _run_on_device(self) -> None:
        self._compute()
        self._place.synchronize()

    def _copy_in(self) -> None:
        for device, host in zip(self._device_inputs, self._host_inputs, strict=True):
            device.copy_(host, non_blocking=True)

    def _copy_out(self) -> None:
        for host, tensor in zip(self._host_outputs, flat(self._result[0]), strict=True):
            host.copy_(tensor, non_blocking=True)


def _nothing() -> None:
    """What a session computes once it is closed."""


def _set_precision(tf32: bool) -> None:
    """Matrix products and convolutions of float32 in float32, unless TF32 is asked for."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


def _torch_dtype(dtype: np.dtype) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype
