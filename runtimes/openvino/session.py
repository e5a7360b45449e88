"""A model that OpenVINO compiled: its session, a lane for each stream, operator times, thread
pinning and errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import c_void_p
from statistics import median

import numpy as np

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import first_line
from runtimes.base import Session
from runtimes.errors import (
    CompileFault,
    OutOfMemory,
    RunFault,
    RuntimeFault,
    Unsupported,
    tells_of_no_memory,
)
from runtimes.execution import OpTime
from runtimes.openvino.library import Kernel, Library, OpenVinoError, Ports, library
from runtimes.options import SESSIONS, OptionValue, Request
from runtimes.session.host import (
    HostLane,
    aligned_empty,
    input_buffers,
    poison,
    takes_c,
    tensor_dtype,
)
from runtimes.session.precision import usable_cores

_NO_OPERATOR = re.compile(r"No conversion rule found for operations: (?P<ops>.+)")
_NO_MODEL = re.compile(r"Unable to read the model")
_NODE = re.compile(r"<Node\([^)]*\): (?P<onnx>[^>]*)>|friendly_name '(?P<own>[^']*)'")
_PASS = re.compile(r"\[(?P<name>\w+)\] END: node: \S+ (?P<node>\S+) \(")
"""A step of the engine's own, and the node of the graph that it failed at."""
# Lines that say where in the engine's source it happened, or only announce the next one.
_FRAME = re.compile(
    r"Exception from |Check '|While validating|FrontEnd API|Loading input|Model wasn't"
    r"|Summary|Shape inference|-- "
)


def compile_fault(error: Exception) -> RuntimeFault:
    """What reading or compiling raised, as Unsupported, OutOfMemory or CompileFault."""
    text = str(error)
    if tells_of_no_memory(error):
        return OutOfMemory("OpenVINO ran out of memory", "use a smaller batch or model")
    if match := _NO_OPERATOR.search(text):
        return Unsupported(
            f"OpenVINO does not know the operator {match['ops']}", "use another runtime"
        )
    if _NO_MODEL.search(text):
        return CompileFault("OpenVINO cannot read the file as an ONNX model", "check the file")
    if match := _PASS.search(text):
        return CompileFault(
            f"OpenVINO failed in its own {match['name']} at node {match['node']!r}{_cause(text)}",
            "measure it in another precision, or on another runtime",
        )
    return CompileFault(f"OpenVINO refused the graph{_clean_message(text)}", "use another runtime")


def run_fault(error: Exception) -> RuntimeFault:
    """What a run raised, as OutOfMemory or RunFault, the node named where the engine does."""
    text = str(error)
    if tells_of_no_memory(error):
        return OutOfMemory("OpenVINO ran out of memory in a run", "use a smaller batch")
    return RunFault(
        f"OpenVINO failed{_clean_message(text)}",
        "check the axes and the inputs it was given (--inputs)",
    )


def _clean_message(text: str) -> str:
    """The node at fault, where one is named, and the engine's last sentence."""
    node = _NODE.search(text)
    where = f" in node {(node['onnx'] or node['own'])!r}" if node else ""
    return where + _cause(text)


def _cause(text: str) -> str:
    said = [line for line in text.splitlines() if line.strip() and not _FRAME.match(line.strip())]
    return f" ({first_line(RuntimeError(said[-1]))})" if said else ""


class OpenVinoLane(HostLane):
    """One request and its buffers; an output of unknown shape the engine allocates."""

    def __init__(
        self,
        engine: Library,
        compiled_model: c_void_p,
        request: Request,
    ) -> None:
        super().__init__(input_buffers(request), {}, request.model.states)
        self._c = engine
        self._engine_outputs: dict[str, tuple[c_void_p, np.dtype]] = {}
        with ExitStack() as resources:
            self._request = engine.request(resources, compiled_model)
            inputs = engine.inputs(resources, compiled_model, [*self.input_buffers])
            names = [spec.name for spec in request.model.outputs]
            outputs = engine.outputs(resources, compiled_model, names)
            for spec in request.model.outputs:
                port = outputs.by_name[spec.name]
                shape, dtype = engine.fixed_shape(port), tensor_dtype(spec)
                if spec.name in self.input_buffers:
                    # Memory that is bound to both ports would be one tensor of the engine's.
                    self.output_buffers[spec.name] = self.input_buffers[spec.name]
                    continue
                if shape is None:
                    self._engine_outputs[spec.name] = (port, dtype)
                    continue
                self.output_buffers[spec.name] = aligned_empty(shape, dtype)
                engine.share(resources, self._request, port, self.output_buffers[spec.name])
            # After the outputs: of one tensor for both, the input's memory holds.
            for name, array in self.input_buffers.items():
                engine.share(resources, self._request, inputs.by_name[name], array)
            if inputs.renamed or outputs.renamed:
                self._find_outputs(outputs)
            self._resources = resources.pop_all()
        self.run = engine.timed(self._request)
        if takes_c(str(request.options["call"])):
            self.calls = (engine.call(self._request),)

    def _find_outputs(self, ports: Ports) -> None:
        """Have the buffers that the request has, where it has one for several ports."""
        host_buffers = (*self.input_buffers.values(), *self.output_buffers.values())
        by_address: dict[int | None, np.ndarray] = {
            array.ctypes.data: array for array in reversed(host_buffers)
        }
        for name, array in self.output_buffers.items():
            address = self._c.address(self._request, ports.by_name[name])
            self.output_buffers[name] = by_address.get(address, array)

    @property
    def allocates(self) -> bool:
        """Whether the engine allocates an output in each run."""
        return bool(self._engine_outputs)

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
        self._engine_outputs, self.calls = {}, ()
        self._resources.close()

    def _views(self) -> dict[str, np.ndarray]:
        return {
            name: self._c.view(self._request, port, dtype)
            for name, (port, dtype) in self._engine_outputs.items()
        }


class Means:
    """Counts the runs of a lane, of a model compiled with PERF_COUNT: the engine does not tell."""

    def __init__(self, lane: OpenVinoLane) -> None:
        self._lane, self._run, self._runs = lane, lane.run, 0
        lane.run = self._run_and_count

    def op_times(self, run: Callable[[], object], runs: int) -> tuple[OpTime, ...]:
        """The median time of each kernel over blocks of `runs` runs, in the order of execution.

        A mean is cut to whole microseconds, so that a block's is only known the better the
        more of all runs are in it: each block is half as long as all that was before it.
        """
        if not self._runs:
            run()
        end = self._runs + runs
        spent_us: dict[str, list[float]] = {}
        runs_before, totals_before = self._runs, self._totals_us()
        while self._runs < end:
            for _ in range(max(1, min(runs_before // 2, end - runs_before))):
                run()
            totals = self._totals_us()
            for node, total_us in totals.items():
                block_us = (total_us - totals_before.get(node, 0.5 * runs_before)) / (
                    self._runs - runs_before
                )
                spent_us.setdefault(node, []).append(max(block_us, 0.0))
            runs_before, totals_before = self._runs, totals
        return tuple(
            OpTime(k.node, k.op, median(spent_us[k.node]), k.executed_as, (k.node, *k.fused))
            for k in self._lane.kernels()
            if k.node in spent_us
        )

    def _run_and_count(self) -> object:
        self._runs += 1
        return self._run()

    def _totals_us(self) -> dict[str, float]:
        """All that each kernel took so far; half of the last microsecond is what was cut."""
        return {k.node: (k.time_us + 0.5) * self._runs for k in self._lane.kernels()}


OPTION = "cpu_pinning"


def pinned_threads(engine: Library, compiled_model: c_void_p) -> int:
    """How many threads of a compiled model stay on a core of their own, as it says itself; 0 where
    none do, and of devices that have no such property."""
    try:
        if engine.property(compiled_model, "ENABLE_CPU_PINNING") != "YES":
            return 0
        return int(engine.property(compiled_model, "INFERENCE_NUM_THREADS"))
    except OpenVinoError:
        return 0


def on_the_same_cores(threads: int, options: Mapping[str, OptionValue]) -> tuple[Diagnostic, ...]:
    """The warning of several sessions with so many pinned threads each; none where these have all
    cores anyway."""
    sessions, cores = int(options[SESSIONS.name]), usable_cores()
    if sessions == 1 or not 0 < threads < cores:
        return ()
    return (diagnostic("threads_pinned_together", sessions=sessions, threads=threads, cores=cores),)


DIRECT_CALL = "ov_infer_request_infer of the C library"


class OpenVinoSession(Session):
    """Owns the compiled model; a lane for each of its streams, with a request of its own, or for
    each of the shapes that its one stream serves.

    `model` is the library's handle of the graph and stays the caller's. The engine may make
    fewer streams than the properties ask for. `executed_on` are the devices that it says it runs
    on, `pinned_threads` how many of its threads have a core of their own. Raises OpenVinoError.
    """

    lanes: tuple[OpenVinoLane, ...]
    by_shape: tuple[OpenVinoLane, ...]

    def __init__(
        self,
        model: c_void_p,
        requests: Sequence[Request],
        device: str,
        properties: Mapping[str, str],
    ) -> None:
        engine = library()
        with ExitStack() as resources:
            compiled_model = engine.compile(resources, model, device, properties)
            # A device that chooses among others tells of no streams.
            optimal_requests = int(
                engine.property(compiled_model, "OPTIMAL_NUMBER_OF_INFER_REQUESTS")
            )
            lanes = []
            streams = min(optimal_requests, int(requests[0].options["streams"]))
            for request in requests if len(requests) > 1 else [*requests] * streams:
                lanes.append(OpenVinoLane(engine, compiled_model, request))
                resources.callback(lanes[-1].close)
            self.by_shape = tuple(lanes) if len(requests) > 1 else ()
            self.lanes = tuple(lanes[:1] if self.by_shape else lanes)
            self.pinned_threads = pinned_threads(engine, compiled_model)
            self.executed_on = tuple(engine.property(compiled_model, "EXECUTION_DEVICES").split())
            self._resources = resources.pop_all()
        self._means = Means(self.lanes[0]) if properties.get("PERF_COUNT") == "YES" else None
        self.call_path = DIRECT_CALL
        if self.lanes[0].allocates:
            self.call_path += ", outputs allocated by the engine"

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        if self._means is None:
            return super().operator_times(runs)
        return self._means.op_times(self.lanes[0].run, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        self._resources.close()
