"""One OpenVINO request on a compiled model, over host buffers of ours, ready to be timed."""

from __future__ import annotations

from contextlib import ExitStack
from ctypes import c_void_p

import numpy as np

from runtimes.ov.library import Kernel, Library
from runtimes.request import Request
from runtimes.session.host import HostLane, aligned_empty, input_buffers, poison, tensor_dtype


class OpenVinoLane(HostLane):
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
            for name, array in self.input_buffers.items():
                port = self._port(compiled, "input", name)
                self._own("tensor", self._c.share(self._request, port, array))
            for spec in request.model.outputs:
                port = self._port(compiled, "output", spec.name)
                shape, dtype = self._c.fixed_shape(port), tensor_dtype(spec)
                if shape is None:
                    self._allocated[spec.name] = (port, dtype)
                    continue
                self.output_buffers[spec.name] = aligned_empty(shape, dtype)
                tensor = self._c.share(self._request, port, self.output_buffers[spec.name])
                self._own("tensor", tensor)
        except BaseException:
            self.close()
            raise
        self.run = self._c.timed(self._request)

    @property
    def allocates(self) -> bool:
        """Whether the engine allocates an output in each run."""
        return bool(self._allocated)

    def outputs(self) -> dict[str, np.ndarray]:
        arrays = super().outputs()
        return arrays | {name: view.copy() for name, view in self._views().items()}

    def poison(self) -> None:
        super().poison()
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
