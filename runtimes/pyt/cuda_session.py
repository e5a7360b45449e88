"""One torch module on a GPU, eager or compiled, ready to be timed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import torch

from exporters.diagnostics.catalogue import diagnostic
from runtimes.base import Session
from runtimes.cuda.options import stated
from runtimes.execution import Execution, Memory, OpTime, Spans
from runtimes.faults import CompileFault, OutOfMemory, RuntimeFault
from runtimes.memory_words import tells_of_no_memory
from runtimes.pyt.compiling import compile_module
from runtimes.pyt.cuda_lane import TorchCudaLane
from runtimes.pyt.cuda_place import Place
from runtimes.pyt.ends import copied_inputs, ends_of
from runtimes.pyt.faults import plain, run_fault
from runtimes.pyt.lane import Result
from runtimes.pyt.layout import module_in_layout
from runtimes.pyt.module import build_module, in_precision, module_precision
from runtimes.pyt.process import shared_process
from runtimes.request import Request

_QUEUES_UP = diagnostic("streams_exhausted")


class TorchCudaSession(Session):
    """The module on the device of `place`, eager or compiled, as one lane."""

    def __init__(self, request: Request, place: Place) -> None:
        settings, options = request.settings, request.options
        self._place = place
        self._tells = settings.operator_times
        compiled = options["mode"] != "eager"
        # What a recorded graph replays has no operators to name.
        recorded = bool(options["cuda_graph"]) and not settings.operator_times
        _set_precision(tf32=bool(options["tf32"]))
        torch.backends.cudnn.benchmark = bool(options["cudnn_benchmark"])
        with ExitStack() as opened:
            opened.callback(place.release)
            shared_process.enter()
            opened.callback(shared_process.leave, compiled)
            try:
                self._lane, module, read = _prepared(request, place, recorded)
            except RuntimeError as error:
                if tells_of_no_memory(error):
                    raise OutOfMemory(
                        "the GPU's memory is too small", "use a smaller batch"
                    ) from error
                raise CompileFault(f"the torch module failed ({plain(error)})") from error
            self._held = opened.pop_all()
        self.lanes = (self._lane,)
        precision = module_precision(module, read)
        # Only an eager module has parts of its own to name as operators.
        self._module = None if compiled else module
        self.execution = Execution(
            provider="inductor" if compiled else "eager",
            precision=stated(precision, bool(options["tf32"]), place.compute_capability),
            device_name=place.name,
            call_path=("graph.replay()" if recorded else _CALLED[str(options["mode"])])
            + ", stream.synchronize()",
            clock="device" if self._tells and self._on_gpu else "wall",
            boundary="host" if options["boundary"] == "host" else "device",
            warnings=(*((_QUEUES_UP,) if place.queues_up else ()), *copied_inputs(request)),
        )

    @property
    def _on_gpu(self) -> bool:
        return self._place.device.type == "cuda"

    def spans(self, runs: int) -> Spans:
        return self._lane.spans(runs)

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        from runtimes.pyt.operators import op_times

        if not self._tells:
            return super().operator_times(runs)
        return op_times(self._lane.run, self._module, runs, self._on_gpu)

    def memory(self) -> Memory:
        return Memory(self._place.peak_bytes(), of_process=True, told_by="allocator")

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        self._lane.close()
        self._module = None
        self._held.close()


_CALLED = {
    "eager": "module(*inputs)",
    "compile": "module(*inputs)",
    "reduce-overhead": "module(*inputs) as CUDA graphs of inductor's",
}


def _prepared(
    request: Request, place: Place, recorded: bool
) -> tuple[TorchCudaLane, torch.nn.Module, tuple[torch.Tensor, ...]]:
    """The lane after its first run, the module that it calls, and the tensors that this reads;
    torch's own errors."""
    settings, factory, mode = request.settings, request.model.factory, request.options["mode"]
    assert factory is not None
    built = build_module(factory)
    module = in_precision(built.module, settings.precision).to(place.device)
    module = module_in_layout(module, bool(request.options["channels_last"]))
    lane = TorchCudaLane(request, place)
    ends = ends_of(request, lane.device_inputs)
    read = lane.device_inputs if ends is None else ends.inside
    # Kernels of a GPU are known by their names, so the code that was timed need not be marked.
    plain = replace(settings, operator_times=False)
    args, kwargs = built.arguments(read)
    called: Callable[..., Result] = module
    if mode != "eager":
        of_torch = None if mode == "compile" else str(mode)
        called = compile_module(module, args, kwargs, plain, mode=of_torch)
    call = partial(called, *args, **kwargs)
    lane.prepare(call if ends is None else ends.around(call), recorded)
    return lane, module, read


def _set_precision(tf32: bool) -> None:
    """Matrix products and convolutions of float32 in float32, unless TF32 is asked for."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
