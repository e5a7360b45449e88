"""One torch module on the CPU, eager or compiled, ready to be timed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import torch

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import Precision
from runtimes.base import Session
from runtimes.execution import Execution, OpTime
from runtimes.faults import RuntimeFault
from runtimes.pyt.compiling import compile_module
from runtimes.pyt.ends import copied_inputs, ends_of
from runtimes.pyt.faults import run_fault
from runtimes.pyt.lane import TorchLane
from runtimes.pyt.layout import module_in_layout
from runtimes.pyt.module import build_module, in_precision, module_precision
from runtimes.pyt.process import shared_process
from runtimes.request import Request
from runtimes.session.host_cpu import cpu_name, multiplies_bf16


class TorchSession(Session):
    """The module on the CPU, eager or compiled, as one lane, or one for each shape."""

    def __init__(self, requests: Sequence[Request]) -> None:
        request = requests[0]
        model, settings = request.model, request.settings
        assert model.factory is not None
        compiled = request.options["mode"] == "compile"
        if settings.threads:
            torch.set_num_threads(settings.threads)
        torch.set_float32_matmul_precision("highest")
        built = build_module(model.factory)
        module = in_precision(built.module, settings.precision)
        module = module_in_layout(module, bool(request.options["channels_last"]))
        with ExitStack() as opened:
            shared_process.enter()
            opened.callback(shared_process.leave, compiled)
            lanes = tuple(map(TorchLane, requests))
            ends = [ends_of(r, lane.inputs) for r, lane in zip(requests, lanes, strict=True)]
            read = [
                lane.inputs if end is None else end.inside
                for lane, end in zip(lanes, ends, strict=True)
            ]
            called = [built.arguments(tensors) for tensors in read]
            # torch decides itself when it meets a second shape: to compile again, or for all.
            dynamic = None if len(lanes) > 1 else False
            call = compile_module(module, *called[0], settings, dynamic) if compiled else module
            for lane, (args, kwargs), end in zip(lanes, called, ends, strict=True):
                lane.time(call, args, kwargs, None if end is None else end.around)
            self._held = opened.pop_all()
        self._owned, self._lane = lanes, lanes[0]
        self.lanes = lanes[:1]
        self.by_shape = lanes if len(lanes) > 1 else ()
        # Only an eager module has parts of its own to name as operators.
        self._module = None if compiled else module
        self._tells = settings.operator_times
        self.execution = Execution(
            provider="inductor" if compiled else "eager",
            precision=module_precision(module, read[0]),
            device_name=cpu_name(),
            call_path="compiled module(*inputs)" if compiled else "module(*inputs)",
            warnings=(*_doubts(settings.precision), *copied_inputs(request)),
        )

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        from runtimes.pyt.operators import op_times

        if not self._tells:
            return super().operator_times(runs)
        return op_times(self._lane.run, self._module, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        for lane in self._owned:
            lane.close()
        self._module = None
        self._held.close()


def _doubts(precision: Precision) -> tuple[Diagnostic, ...]:
    if precision != "bf16" or multiplies_bf16():
        return ()
    return (diagnostic("bf16_emulated"),)
