"""The process that tells operator times: `python -m app.workers.operators`, one case."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from app.cases.operators import OperatorJob, OperatorTimes
from app.workers.held import held
from app.workers.peak import peaks_of_host
from app.workers.reason import is_transient, reason_of
from app.workers.roof import operators
from app.workers.serve import serve
from app.workers.starting import prepare, runtime_called, state_of
from exporters import own
from exporters.codec import from_json
from exporters.node_graph import NodeGraph
from exporters.types import axes_key, load_reference
from runtimes.dealing import each
from runtimes.execution import AfterCompletion

FOR_S = 2.0
LEAST_RUNS, MOST_RUNS = 5, 100
"""Enough runs for a median; profilers keep every run of every operator in memory."""


def main() -> int:
    return serve(answer)


def answer(values: dict[str, Any], _: Callable[[dict[str, Any]], None]) -> OperatorTimes:
    """The operator times of the case in `values`; every failure has its reason."""
    request = from_json(OperatorJob, values)
    try:
        return operator_times(request)
    except Exception as error:
        reason, transient = reason_of(error), is_transient(error)
        return OperatorTimes(request.case.case_id, reason=reason, transient=transient)


def operator_times(request: OperatorJob) -> OperatorTimes:
    """Compile the case for it, run it as the round did, and take the times."""
    case, settings = request.case, request.settings
    model = request.model.at(case.axes)
    runtime = runtime_called(case.runtime)
    settings = each(runtime, settings)[0]  # what one session computes, any other does too
    prepare(runtime, settings)
    state_of(runtime)
    runtime.refuse(model, model.axes, settings)
    runtime.load()
    reference = load_reference(model.references[axes_key(model.axes)])
    run_us = None
    with closing(runtime.compile(model, model.axes, settings)) as session:
        session.lanes[0].bind(reference.inputs)
        if session.execution.clock == "simulated":
            # How much is done before a request arrives depends on the pause before it.
            arrivals = AfterCompletion(1, round(case.scenario.gap_us * 1e3))
            session.simulate(arrivals, np.random.default_rng(0))
            runs, told = 1, session.operator_times(1)
        else:
            runs = _enough_runs(session.lanes[0].run)
            timed = session.lanes[0].run = _Timed(session.lanes[0].run)
            told = session.operator_times(runs)
            run_us = median(timed.spent_ns) / 1e3 if timed.spent_ns else None
        execution = session.execution
        graph = _graph(model.path, case.axes, session.executed_graph)
    on_host = execution.clock == "wall" and not runtime.accelerator
    comparable = on_host and execution.precision == "fp32"
    peaks = peaks_of_host(settings.threads, request.cache_dir) if comparable else None
    peak = peaks.at(graph.touched_bytes) if peaks else None
    ops = operators(graph, told, held(graph, told), peak)
    return OperatorTimes(case.case_id, execution.clock, runs, ops, "", run_us, peak)


class _Timed:
    """A run that is timed here too: what the profiler adds to it shows."""

    def __init__(self, run: Callable[[], object]) -> None:
        self._run = run
        self.spent_ns: list[int] = []

    def __call__(self) -> object:
        begun = time.perf_counter_ns()
        done = self._run()
        self.spent_ns.append(time.perf_counter_ns() - begun)
        return done


def _graph(model: str, axes: Mapping[str, int], executed: Path | None) -> NodeGraph:
    """The nodes of the file, read by a process that may import onnx; none if it can't."""
    files = [model, json.dumps(dict(axes)), *([str(executed)] if executed else [])]
    command = own.starter_command("exporters.files.node_graph", *files)
    environment = own.child_environment()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    try:
        return from_json(NodeGraph, json.loads(done.stdout))
    except ValueError:
        return NodeGraph()


def _enough_runs(run: Callable[[], object]) -> int:
    run()
    begun = time.perf_counter()
    run()
    spent_s = time.perf_counter() - begun
    return int(min(max(FOR_S / max(spent_s, 1e-6), LEAST_RUNS), MOST_RUNS))


if __name__ == "__main__":
    sys.exit(main())
