"""One torch module on the CPU, eager or compiled, ready to be timed."""

from __future__ import annotations

from contextlib import ExitStack

import torch

from runtimes.base import Session
from runtimes.execution import Execution, OpTime
from runtimes.faults import RuntimeFault
from runtimes.pyt.compiling import compile_module
from runtimes.pyt.faults import run_fault
from runtimes.pyt.lane import TorchLane
from runtimes.pyt.module import build_module, module_precision
from runtimes.pyt.process import shared_process
from runtimes.request import Request
from runtimes.session.host_cpu import cpu_name


class TorchSession(Session):
    """The module on the CPU, eager or compiled, as one lane."""

    def __init__(self, request: Request) -> None:
        model, settings = request.model, request.settings
        assert model.factory is not None
        compiled = request.options["mode"] == "compile"
        if settings.threads:
            torch.set_num_threads(settings.threads)
        torch.set_float32_matmul_precision("highest")
        built = build_module(model.factory)
        module = built.module
        with ExitStack() as opened:
            shared_process.enter()
            opened.callback(shared_process.leave, compiled)
            self._lane = TorchLane(request)
            args, kwargs = built.arguments(self._lane.inputs)
            call = compile_module(module, args, kwargs, settings) if compiled else module
            self._lane.time(call, args, kwargs)
            self._held = opened.pop_all()
        self.lanes = (self._lane,)
        # Only an eager module has parts of its own to name as operators.
        self._module = None if compiled else module
        self._tells = settings.operator_times
        self.execution = Execution(
            provider="inductor" if compiled else "eager",
            precision=module_precision(module, self._lane.input_buffers.values()),
            device_name=cpu_name(),
            call_path="compiled module(*inputs)" if compiled else "module(*inputs)",
        )

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        from runtimes.pyt.operators import op_times

        if not self._tells:
            return super().operator_times(runs)
        return op_times(self._lane.run, self._module, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        self._lane.close()
        self._module = None
        self._held.close()
