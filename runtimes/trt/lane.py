"""One TensorRT execution context over buffers of ours: host memory, device memory, a stream.

At the host's boundary a run copies in, computes and copies out in one stream; at the device's
it computes. As a CUDA graph the whole of it is one launch. A run for the times of layers is
launched layer by layer, and TensorRT marks them with the device's own clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from runtimes.base import Arrays
from runtimes.calls.call import Copy
from runtimes.cuda.driver import OUT_OF_MEMORY, CudaError, Gpu, Step
from runtimes.cuda.faults import compile_fault
from runtimes.cuda.options import locks_host_memory
from runtimes.execution import Spans
from runtimes.faults import OutOfMemory, RunFault, Unsupported
from runtimes.request import Request
from runtimes.session.call_option import takes_c
from runtimes.session.host import HostLane, aligned_zeros, tensor_dtype
from runtimes.trt.build import context_of
from runtimes.trt.faults import Log
from runtimes.trt.found_outputs import FoundOutput, allocator_of
from runtimes.trt.layer_times import layer_times

if TYPE_CHECKING:
    import tensorrt


class TensorRtLane(HostLane):
    """One execution context with a stream and buffers of its own."""

    def __init__(
        self,
        trt: ModuleType,
        request: Request,
        engine: tensorrt.ICudaEngine,
        gpu: Gpu,
        log: Log,
        on_host: bool,
        cuda_graph: bool,
    ) -> None:
        log.begin()
        context = context_of(trt, engine)
        if context is None:
            raise log.fault(
                OutOfMemory, "TensorRT gave no execution context", "use a smaller batch"
            )
        self._trt, self._context = trt, context
        self._gpu, self._log, self._on_host = gpu, log, on_host
        self._execute_async = context.execute_async_v3
        self._stream = gpu.stream()
        self._handle = self._stream.value
        self._marks = [gpu.event() for _ in range(4)]
        model, shapes = request.model, request.shapes
        on_host_array = gpu.pinned if locks_host_memory(request.options) else aligned_zeros
        inputs = {s.name: on_host_array(shapes[s.name], tensor_dtype(s)) for s in model.inputs}
        for name, array in inputs.items():
            _check_type(engine, name, array)
            context.set_input_shape(name, array.shape)
        outputs = {}
        self._found: dict[str, FoundOutput] = {}
        for spec in model.outputs:
            shape = tuple(context.get_tensor_shape(spec.name))
            if any(size < 0 for size in shape):
                _refuse_open(spec.name, on_host, cuda_graph)
                dtype, most = tensor_dtype(spec), int(context.get_max_output_size(spec.name))
                _check_type(engine, spec.name, np.empty(0, dtype))
                self._found[spec.name] = FoundOutput(gpu, self._stream, on_host_array, dtype, most)
                continue
            outputs[spec.name] = on_host_array(shape, tensor_dtype(spec))
            _check_type(engine, spec.name, outputs[spec.name])
        super().__init__(inputs, outputs, model.states)
        addresses = {
            name: gpu.device_buffer(array.nbytes) for name, array in (inputs | outputs).items()
        }
        for name, address in addresses.items():
            context.set_tensor_address(name, address)
        self._addresses = addresses
        self._allocator = allocator_of(trt, self._found)
        for name in self._found:
            context.set_output_allocator(name, self._allocator)
        self._uploads = [gpu.upload(addresses[n], a, self._stream) for n, a in inputs.items()]
        self._downloads: list[Step] = [
            *(gpu.download(a, addresses[n], self._stream) for n, a in outputs.items()),
            *(found.download for found in self._found.values()),
        ]
        self._poisons = [gpu.upload(addresses[n], a, self._stream) for n, a in outputs.items()]
        self.synchronize: Step = gpu.synchronizing(self._stream)
        self._compute: Step = self._execute
        self._queue: Step = self._enqueue
        if cuda_graph:
            self._record(takes_c(str(request.options["call"])))
        self.run = self._run
        # TensorRT waits for a shape that it has to find.
        self.enqueue = None if self._found else self._queue

    def enter(self) -> None:
        self._gpu.make_current()

    def bind(self, inputs: Arrays) -> None:
        super().bind(inputs)
        _call_all(self._uploads)
        self.synchronize()

    def feed(self, inputs: Arrays) -> None:
        super().feed(inputs)
        if not self._on_host:
            uploads = zip(self.input_buffers, self._uploads, strict=True)
            _call_all(upload for name, upload in uploads if name in inputs)
            self.synchronize()

    def outputs(self) -> dict[str, np.ndarray]:
        if not self._on_host:
            _call_all(self._downloads)
            self.synchronize()
        found = {name: output.array() for name, output in self._found.items()}
        return super().outputs() | {n: array for n, array in found.items() if array is not None}

    def poison(self) -> None:
        _call_all(self._downloads)
        self.synchronize()
        super().poison()
        for found in self._found.values():
            found.poison()
        _call_all(self._poisons)
        self.synchronize()

    def advance(self) -> None:
        if self._on_host:
            super().advance()
            return
        for pair in self._states:
            target, source = self._addresses[pair.input], self._addresses[pair.output]
            self._gpu.copy(target, source, self.input_buffers[pair.input].nbytes)

    def advancing(self) -> tuple[Copy, ...] | None:
        return super().advancing() if self._on_host else None

    def feeding(self, inputs: Arrays) -> tuple[Copy, ...] | None:
        return super().feeding(inputs) if self._on_host else None

    def spans(self, runs: int) -> Spans:
        """`runs` more runs with the device's own marks around their parts."""
        times = np.zeros((3, runs), np.int64)
        for index in range(runs):
            self._gpu.record(self._marks[0], self._stream)
            if self._on_host:
                _call_all(self._uploads)
            self._gpu.record(self._marks[1], self._stream)
            self._compute()
            self._gpu.record(self._marks[2], self._stream)
            if self._on_host:
                _call_all(self._downloads)
            self._gpu.record(self._marks[3], self._stream)
            self.synchronize()
            for part in range(3):
                times[part, index] = self._gpu.elapsed_ns(self._marks[part], self._marks[part + 1])
        return Spans(times[1], times[0], times[2]) if self._on_host else Spans(times[1])

    def layer_times_ms(self, runs: int) -> list[dict[str, float]]:
        """What each layer takes in each of `runs` more runs, by the device's clock."""
        context: tensorrt.IExecutionContext = self._context
        times = layer_times(self._trt)
        context.profiler = times
        # Otherwise each launch would wait for its layers and report by itself.
        context.enqueue_emits_profile = False
        self._log.begin()
        told = []
        for _ in range(runs):
            times.spent_ms = {}
            self._run()
            if not context.report_to_profiler():
                raise self._log.fault(
                    RunFault, "TensorRT reported no layer times", "see nvidia-smi"
                )
            told.append(times.spent_ms)
        return told

    def close(self) -> None:
        super().close()
        self._addresses, self.calls = {}, ()
        self._uploads, self._downloads, self._poisons = [], [], []
        self._found.clear()
        self._execute_async = None
        self._context = None

    def _run(self) -> None:
        self._queue()
        self.synchronize()

    def _enqueue(self) -> None:
        if self._on_host:
            for upload in self._uploads:
                upload()
        self._compute()
        if self._on_host:
            for download in self._downloads:
                download()

    def _execute(self) -> None:
        if not self._execute_async(self._handle):
            raise self._log.fault(RunFault, "TensorRT could not start a run", "see nvidia-smi")

    def _record(self, in_c: bool) -> None:
        """Two graphs: of the whole run, and of its computing for the spans."""
        try:
            # The first run after shapes are set may allocate, which a recording must not.
            self._run()
            compute = self._gpu.graph(self._stream, self._execute)
            whole = self._gpu.graph(self._stream, self._enqueue)
        except (CudaError, RunFault) as error:
            if isinstance(error, CudaError) and error.code == OUT_OF_MEMORY:
                raise compile_fault(error) from error
            raise Unsupported(
                f"the engine cannot be recorded as a CUDA graph ({error})", "set cuda_graph=0"
            ) from error
        self._compute = self._gpu.launching(compute, self._stream)
        self._queue = self._gpu.launching(whole, self._stream)
        if in_c:
            self.calls = self._gpu.launched(whole, self._stream)


def _refuse_open(name: str, on_host: bool, cuda_graph: bool) -> None:
    """Unsupported for an output whose shape only a run tells, where nothing can be made of it."""
    if not on_host:
        raise Unsupported(
            f"the shape of output {name!r} is known only after a run, so that nothing can be laid "
            "out for it on the device",
            "set boundary=host",
        )
    if cuda_graph:
        raise Unsupported(
            f"the shape of output {name!r} is known only after a run, and a recorded CUDA graph "
            "has fixed ones",
            "set cuda_graph=0",
        )


def _call_all(calls: Iterable[Step]) -> None:
    for call in calls:
        call()


def _check_type(engine: tensorrt.ICudaEngine, name: str, array: np.ndarray) -> None:
    """Unsupported where the engine reads or writes another type than the graph tells."""
    kind: tensorrt.DataType = engine.get_tensor_dtype(name)
    wanted = _DTYPES.get(kind.name)
    if wanted != array.dtype.name:
        raise Unsupported(
            f"TensorRT takes {name!r} as {kind.name.lower()} and not as {array.dtype}",
            "use a graph with types that TensorRT has",
        )


_DTYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
}
