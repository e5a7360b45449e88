"""A TensorRT engine as a session: a lane for each stream over host and device memory, outputs of
data-dependent shapes, layer times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from runtimes.base import Arrays, Session
from runtimes.calls import Call, Copy
from runtimes.cuda.driver import OUT_OF_MEMORY, CudaError, Gpu, Step, calling, compile_fault
from runtimes.cuda.marks import mark_in_c, mark_in_python
from runtimes.cuda.options import locks_host_memory
from runtimes.errors import OutOfMemory, RunFault, RuntimeFault, Unsupported
from runtimes.execution import Execution, Memory, OpTime, Spans
from runtimes.options import Request
from runtimes.session.host import HostLane, NewArray, aligned_zeros, poison, takes_c, tensor_dtype
from runtimes.tensorrt import layers
from runtimes.tensorrt.build import context_of, layers_json
from runtimes.tensorrt.engines import Made
from runtimes.tensorrt.errors import Log, run_fault

if TYPE_CHECKING:
    from ctypes import c_void_p

    import tensorrt


class LayerTimes:
    """What TensorRT reports of each layer, added up by its name in the order of execution."""

    def __init__(self) -> None:
        self.spent_ms: dict[str, float] = {}

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        self.spent_ms[layer_name] = self.spent_ms.get(layer_name, 0.0) + ms


def layer_times(trt: ModuleType) -> LayerTimes:
    """None so far, as the package takes them: its contexts ask for one of its own IProfiler."""

    class Profiler(LayerTimes, trt.IProfiler):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)
            LayerTimes.__init__(self)

    return Profiler()


class FoundOutput:
    """One output: room on the device and on the host, and the shape that the last run told."""

    def __init__(
        self, gpu: Gpu, stream: c_void_p, new_array: NewArray, dtype: np.dtype, most_bytes: int
    ) -> None:
        self._gpu, self._stream, self._dtype = gpu, stream, dtype
        self._new_array = new_array
        self._shape: tuple[int, ...] | None = None
        self._make_room(max(most_bytes, dtype.itemsize))

    def room_for(self, size: int) -> int:
        """The address on the device of at least so many bytes."""
        if size > self._host.nbytes:
            self._make_room(size)
        return self._address

    def tell(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    def poison(self) -> None:
        """Queue the overwriting of what was found; until a run tells its shape there is none."""
        self._shape = None
        poison(self._host)
        self._gpu.upload(self._address, self._host, self._stream)()

    def download(self) -> None:
        """Queue the copy of what was found to the host."""
        device_array = self._found()
        if device_array is not None and device_array.size:
            self._gpu.download(device_array, self._address, self._stream)()

    def array(self) -> np.ndarray | None:
        """A copy of what the last run has left on the host; None without one."""
        device_array = self._found()
        return None if device_array is None else device_array.reshape(self._shape or ()).copy()

    def _found(self) -> np.ndarray | None:
        return None if self._shape is None else self._host[: math.prod(self._shape)]

    def _make_room(self, size: int) -> None:
        count = -(-size // self._dtype.itemsize)
        self._host = self._new_array((count,), self._dtype)
        self._address = self._gpu.device_buffer(self._host.nbytes)


def allocator_of(trt: ModuleType, outputs: Mapping[str, FoundOutput]) -> tensorrt.IOutputAllocator:
    """What a context asks for room: its class asks for one of its own IOutputAllocator."""

    class Allocator(trt.IOutputAllocator):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.IOutputAllocator.__init__(self)

        def reallocate_output(
            self, tensor_name: str, memory: int, size: int, alignment: int
        ) -> int:
            return outputs[tensor_name].room_for(size)

        def reallocate_output_async(
            self, tensor_name: str, memory: int, size: int, alignment: int, stream: int
        ) -> int:
            return outputs[tensor_name].room_for(size)

        def notify_shape(self, tensor_name: str, shape: tuple[int, ...]) -> None:
            outputs[tensor_name].tell(tuple(shape))

    return Allocator()


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
            *(output.download for output in self._found.values()),
        ]
        self._poisons = [gpu.upload(addresses[n], a, self._stream) for n, a in outputs.items()]
        self.synchronize: Step = gpu.synchronizing(self._stream)
        # A copy from memory that is not locked keeps the host busy.
        self._queues = not self._on_host or locks_host_memory(request.options)
        self._part_calls: tuple[tuple[Call, ...], ...] = ()
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
        arrays = {name: output.array() for name, output in self._found.items()}
        return super().outputs() | {n: array for n, array in arrays.items() if array is not None}

    def poison(self) -> None:
        _call_all(self._downloads)
        self.synchronize()
        super().poison()
        for output in self._found.values():
            output.poison()
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
        """`runs` more runs with events around their parts, by the loop that times."""
        stream = self._handle or 0
        if self.calls and self._part_calls:
            parts = self._part_calls if self._on_host else self._part_calls[1:2]
            return mark_in_c(stream, parts, runs).spans(self._on_host)
        copies_in, copies_out = (partial(_call_all, c) for c in (self._uploads, self._downloads))
        steps: list[Step] = [self._compute]
        if self._on_host:
            steps = [copies_in, self._compute, copies_out]
        return mark_in_python(stream, steps, runs).spans(self._on_host, self._queues)

    def layer_times_ms(self, runs: int) -> list[dict[str, float]]:
        """What each layer takes in each of `runs` more runs, by the device's clock."""
        context: tensorrt.IExecutionContext = self._context
        times = layer_times(self._trt)
        context.profiler = times
        # Otherwise each launch would wait for its layers and report by itself.
        context.enqueue_emits_profile = False
        self._log.begin()
        times_ms = []
        for _ in range(runs):
            times.spent_ms = {}
            self._run()
            if not context.report_to_profiler():
                raise self._log.fault(
                    RunFault, "TensorRT reported no layer times", "see nvidia-smi"
                )
            times_ms.append(times.spent_ms)
        return times_ms

    def close(self) -> None:
        super().close()
        self._addresses, self.calls, self._part_calls = {}, (), ()
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
            launch, _ = self._gpu.launched(compute, self._stream)
            self._part_calls = (
                tuple(self._copy_call("cuMemcpyHtoDAsync_v2", name) for name in self.input_buffers),
                (launch,),
                tuple(self._copy_call("cuMemcpyDtoHAsync_v2", n) for n in self.output_buffers),
            )

    def _copy_call(self, function: str, name: str) -> Call:
        """The copy of an input to the device, or of an output from it, for the loop in C."""
        array = (self.input_buffers | self.output_buffers)[name]
        device, host = self._addresses[name], array.ctypes.data
        ends = (device, host) if name in self.input_buffers else (host, device)
        return calling(function, *ends, array.nbytes, self._handle or 0)


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
    expected_dtype = _DTYPES.get(kind.name)
    if expected_dtype != array.dtype.name:
        raise Unsupported(
            f"TensorRT takes {name!r} as {kind.name.lower()} and not as {array.dtype}",
            "use a graph with types that TensorRT has",
        )


_DTYPES = {name.upper(): name for name in ("int8", "uint8", "int32", "int64", "bool")}
_DTYPES |= {"FLOAT": "float32", "HALF": "float16"}


class TensorRtSession(Session):
    """Owns the engine and the GPU; a lane for each stream, with its own execution context."""

    lanes: tuple[TensorRtLane, ...]
    plan_bytes: int
    """The size of the engine as a file."""

    def __init__(
        self,
        trt: ModuleType,
        request: Request,
        built_engine: Made,
        execution: Execution,
        gpu: Gpu,
        log: Log,
    ) -> None:
        self._trt = trt
        self._runtime, self._engine = built_engine.loaded
        self.plan_bytes = built_engine.plan_bytes
        self._gpu = gpu
        streams, tells = int(request.options["streams"]), request.settings.operator_times
        on_host = execution.boundary == "host"
        cuda_graph = bool(request.options["cuda_graph"]) and not tells
        self._tells = tells
        self.lanes = tuple(
            TensorRtLane(trt, request, self._engine, gpu, log, on_host, cuda_graph)
            for _ in range(streams)
        )
        self._memory = Memory(_device_bytes(trt, self._engine, streams, gpu), told_by="sizes")
        path = "cuGraphLaunch" if cuda_graph else "execute_async_v3"
        self.execution = replace(
            execution,
            call_path=f"{path}, cuStreamSynchronize",
            clock="device" if tells else "wall",
        )

    def spans(self, runs: int) -> Spans:
        return self.lanes[0].spans(runs)

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        if not self._tells or self._engine is None:
            return super().operator_times(runs)
        spent_ms = self.lanes[0].layer_times_ms(runs)
        return layers.op_times(layers_json(self._trt, self._engine), spent_ms)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def memory(self) -> Memory:
        return self._memory

    def close(self) -> None:
        # A run that failed may have left work behind which still uses the contexts.
        self._gpu.finish()
        for lane in self.lanes:
            lane.close()
        # In this order: an engine must outlive its contexts, a runtime its engines.
        self._engine, self._runtime = None, None
        self._gpu.close()


def _device_bytes(
    trt: ModuleType, engine: tensorrt.ICudaEngine, contexts: int, gpu: Gpu
) -> int | None:
    """Weights, activations and our buffers; None before TensorRT 10.14, which does not tell."""
    if not hasattr(engine, "get_engine_stat"):
        return None
    weights: int = engine.get_engine_stat(trt.EngineStat.TOTAL_WEIGHTS_SIZE)
    return weights + contexts * int(engine.device_memory_size_v2) + gpu.allocated_bytes
