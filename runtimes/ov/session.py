"""OpenVINO requests on one compiled model, each over host buffers of ours, ready to be timed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from ctypes import c_void_p

import numpy as np

from runtimes.execution import OpTime
from runtimes.faults import RuntimeFault
from runtimes.ov.faults import run_fault
from runtimes.ov.library import Kernel, Library, library
from runtimes.request import Request
from runtimes.session.host import HostSession, aligned_empty, input_buffers, poison, tensor_dtype
from runtimes.session.parts import SessionOfParts

DIRECT_CALL = "ov_infer_request_infer of the C library"


class OpenVinoSession(SessionOfParts):
    """Owns the compiled model; one slot for each of its streams, with a request of its own.

    `model` is the library's handle of the graph with fixed shapes and stays the caller's.
    The engine may make fewer streams than the properties ask for. Raises OpenVinoError.
    """

    def __init__(
        self,
        model: c_void_p,
        request: Request,
        properties: Mapping[str, str],
    ) -> None:
        engine = library()
        with ExitStack() as opened:
            compiled = engine.compile(model, properties)
            opened.callback(engine.free, "compiled_model", compiled)
            self._requests = [
                opened.enter_context(_Request(engine, compiled, request))
                for _ in range(int(engine.property(compiled, "NUM_STREAMS")))
            ]
            self._handles = opened.pop_all()
        super().__init__(self._requests)
        self.call_path = DIRECT_CALL
        if self._requests[0].allocates:
            self.call_path += ", outputs allocated by the engine"

    def kernels(self) -> tuple[Kernel, ...]:
        """What slot 0's last run executed, if the properties asked for it (PERF_COUNT)."""
        return self._requests[0].kernels()

    def profile_ops(self, runs: int) -> tuple[OpTime, ...]:
        for _ in range(runs):
            self.run()
        kernels = self.kernels()
        if not kernels:
            return super().profile_ops(runs)
        return tuple(OpTime(k.node, k.op, float(k.time_us), k.executed_as) for k in kernels)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        super().close()
        self._requests = []
        self._handles.close()


class _Request(HostSession):
    """One request and its buffers; an output of unknown shape the engine allocates."""

    def __init__(
        self,
        engine: Library,
        compiled: c_void_p,
        request: Request,
    ) -> None:
        super().__init__(input_buffers(request), {}, request.model.states)
        self._c = engine
        self._handles = ExitStack()
        self._allocated: dict[str, tuple[c_void_p, np.dtype]] = {}
        try:
            self._request = self._own("infer_request", self._c.request(compiled))
            for name, array in self._inputs.items():
                port = self._port(compiled, "input", name)
                self._own("tensor", self._c.share(self._request, port, array))
            for spec in request.model.outputs:
                port = self._port(compiled, "output", spec.name)
                shape, dtype = self._c.fixed_shape(port), tensor_dtype(spec)
                if shape is None:
                    self._allocated[spec.name] = (port, dtype)
                    continue
                self._outputs[spec.name] = aligned_empty(shape, dtype)
                tensor = self._c.share(self._request, port, self._outputs[spec.name])
                self._own("tensor", tensor)
        except BaseException:
            self.close()
            raise
        self.run = self._c.timed(self._request)

    @property
    def allocates(self) -> bool:
        """Whether the engine allocates an output in each run."""
        return bool(self._allocated)

    def outputs(self, slot: int = 0) -> dict[str, np.ndarray]:
        arrays = super().outputs(slot)
        return arrays | {name: view.copy() for name, view in self._views().items()}

    def poison(self, slot: int = 0) -> None:
        super().poison(slot)
        for view in self._views().values():
            poison(view)

    def kernels(self) -> tuple[Kernel, ...]:
        return self._c.profile(self._request)

    def close(self) -> None:
        super().close()
        self._allocated = {}
        self._handles.close()

    def _views(self) -> dict[str, np.ndarray]:
        return {
            name: self._c.view(self._request, port, dtype)
            for name, (port, dtype) in self._allocated.items()
        }

    def _port(self, compiled: c_void_p, side: str, name: str) -> c_void_p:
        return self._own("output_const_port", self._c.port(compiled, side, name))

    def _own(self, kind: str, handle: c_void_p) -> c_void_p:
        """Free the handle when the request closes, after all that were made from it."""
        self._handles.callback(self._c.free, kind, handle)
        return handle
