"""One OpenVINO request on a compiled model, over host buffers of ours, ready to be timed."""

from __future__ import annotations

from contextlib import ExitStack
from ctypes import c_void_p

import numpy as np

from runtimes.ov.library import Kernel, Library, Ports
from runtimes.request import Request
from runtimes.session.call_option import takes_c
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
        self._allocated: dict[str, tuple[c_void_p, np.dtype]] = {}
        with ExitStack() as held:
            self._request = engine.request(held, compiled)
            inputs = engine.inputs(held, compiled, [*self.input_buffers])
            names = [spec.name for spec in request.model.outputs]
            outputs = engine.outputs(held, compiled, names)
            for spec in request.model.outputs:
                port = outputs.by_name[spec.name]
                shape, dtype = engine.fixed_shape(port), tensor_dtype(spec)
                if spec.name in self.input_buffers:
                    # Memory that is bound to both ports would be one tensor of the engine's.
                    self.output_buffers[spec.name] = self.input_buffers[spec.name]
                    continue
                if shape is None:
                    self._allocated[spec.name] = (port, dtype)
                    continue
                self.output_buffers[spec.name] = aligned_empty(shape, dtype)
                engine.share(held, self._request, port, self.output_buffers[spec.name])
            # After the outputs: of one tensor for both, the input's memory holds.
            for name, array in self.input_buffers.items():
                engine.share(held, self._request, inputs.by_name[name], array)
            if inputs.renamed or outputs.renamed:
                self._find_outputs(outputs)
            self._held = held.pop_all()
        self.run = engine.timed(self._request)
        if takes_c(str(request.options["call"])):
            self.calls = (engine.call(self._request),)

    def _find_outputs(self, ports: Ports) -> None:
        """Have the buffers that the request has, where it has one for several ports."""
        held = (*self.input_buffers.values(), *self.output_buffers.values())
        by_address: dict[int | None, np.ndarray] = {
            array.ctypes.data: array for array in reversed(held)
        }
        for name, array in self.output_buffers.items():
            address = self._c.address(self._request, ports.by_name[name])
            self.output_buffers[name] = by_address.get(address, array)

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
        return self._c.kernels(self._request)

    def close(self) -> None:
        super().close()
        self._allocated, self.calls = {}, ()
        self._held.close()

    def _views(self) -> dict[str, np.ndarray]:
        return {
            name: self._c.view(self._request, port, dtype)
            for name, (port, dtype) in self._allocated.items()
        }
