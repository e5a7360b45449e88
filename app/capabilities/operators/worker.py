"""The process that measures operator times: one case, with its roofline."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from app.cases.jobs import Operator, OperatorJob, OperatorTimes, Peak
from app.workers.peak import peaks_of_host
from app.workers.process import is_transient, load_for, reason_of, runtime_of_spec, serve
from exporters import install_layout
from exporters.codec import from_json
from exporters.messages import GraphNode, NodeGraph
from exporters.types import axes_key, load_reference
from runtimes.base import Runtime
from runtimes.execution import AfterCompletion, Execution, OpTime
from runtimes.session.session_group import each


def owners_by_calls(graph: NodeGraph, ops: Sequence[OpTime]) -> dict[str, int]:
    """Node -> the number of the call in `ops` that it belongs to; only what is certain."""
    owners: dict[str, int] = {}
    for kind in dict.fromkeys(op.op for op in ops):
        calls = [number for number, op in enumerate(ops) if op.op == kind]
        pattern = re.compile(rf"node_{re.escape(kind)}(_\d+)?")
        names = [node.name for node in graph.nodes if pattern.fullmatch(node.name)]
        if len(names) == len(calls):
            owners |= dict(zip(names, calls, strict=True))
    modules: dict[str, list[int]] = {}
    for number, op in enumerate(ops):
        modules.setdefault(op.node.partition(" #")[0], []).append(number)
    for node in graph.nodes:
        for tensor in node.reads:
            # Equal parameters are one tensor in a file: that one tells of no module.
            calls = modules.get(_module_of(tensor, modules), [])
            if len(calls) == 1 and len(graph.needing(tensor)) == 1:
                owners.setdefault(node.name, calls[0])
    return owners


def _module_of(parameter: str, modules: dict[str, list[int]]) -> str:
    """The innermost module that made a call of its own and has this parameter; "" for none."""
    parts = parameter.split(".")
    starts = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    return next((start for start in starts if start in modules), "")


_LAID_OUT = "_nchwc"
"""ONNX Runtime puts this behind a tensor's name to call the node that gives it in blocks."""


def source_nodes(graph: NodeGraph, ops: Sequence[OpTime]) -> list[tuple[str, ...]]:
    """For each of `ops` the names of the nodes that it computes, in the file's order.

    No node is held by two.
    """
    executed_nodes = {node.name: node for node in graph.executed}
    owners: dict[str, int] = {}
    for number, op in enumerate(ops):
        for name in _known_owners(op, executed_nodes.get(op.node), graph):
            owners.setdefault(name, number)
    owners = owners or owners_by_calls(graph, ops)
    _extend(graph, [executed_nodes.get(op.node) for op in ops], owners)
    names_by_operator: list[list[str]] = [[] for _ in ops]
    for node in graph.nodes:
        if node.name in owners:
            names_by_operator[owners[node.name]].append(node.name)
    return [tuple(names) for names in names_by_operator]


def _known_owners(op: OpTime, run: GraphNode | None, graph: NodeGraph) -> Iterator[str]:
    """The nodes that give the tensors of the executed one, else those that it is called after."""
    makers = [graph.maker(tensor) for tensor in (run.writes if run else ())]
    if any(makers):
        yield from (node.name for node in makers if node)
        return
    for name in op.holds or (op.node,):
        parts = name.removesuffix(_LAID_OUT).split("/")
        starts = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
        yield from next(filter(None, map(graph.called, starts)), ())


def _extend(
    graph: NodeGraph, executed_nodes: Sequence[GraphNode | None], owners: dict[str, int]
) -> None:
    """Give the nodes that have no owner to the executed ones, in the order of execution."""
    if not owners:
        return
    nodes_by_operator: list[list[GraphNode]] = [[] for _ in executed_nodes]
    for node in graph.nodes:
        if node.name in owners:
            nodes_by_operator[owners[node.name]].append(node)
    alias: dict[str, str] = {}
    for number, run in enumerate(executed_nodes):
        if run is None or not nodes_by_operator[number] or any(map(graph.maker, run.writes)):
            continue  # where it ends is known
        inputs = {alias.get(tensor, tensor) for tensor in run.reads}
        while (
            successor := _fused_successor(graph, nodes_by_operator[number], inputs, owners)
        ) is not None:
            owners[successor.name] = number
            nodes_by_operator[number].append(successor)
        alias |= dict.fromkeys(run.writes, next(iter(nodes_by_operator[number][-1].writes)))
    for number, nodes in enumerate(nodes_by_operator):
        pending = list(chain.from_iterable(node.reads for node in nodes))
        while pending:
            maker = graph.maker(pending.pop())
            if maker is not None and maker.name not in owners:
                owners[maker.name] = number
                pending += maker.reads


def _fused_successor(
    graph: NodeGraph, nodes: Sequence[GraphNode], inputs: set[str], owners: Mapping[str, int]
) -> GraphNode | None:
    """The one node that needs what these give, if it multiplies nothing and needs nothing else."""
    if len(nodes[-1].writes) != 1:
        return None
    (tensor,) = nodes[-1].writes
    needing = graph.needing(tensor)
    if len(needing) != 1 or needing[0].name in owners or needing[0].macs != 0:
        return None
    other_reads = (read for read in needing[0].reads if read != tensor and graph.maker(read))
    return needing[0] if inputs.issuperset(other_reads) else None


def operators(
    graph: NodeGraph,
    ops: Sequence[OpTime],
    holds: Sequence[tuple[str, ...]],
    peak: Peak | None,
) -> tuple[Operator, ...]:
    """`ops` with what each has to do; `holds` are the nodes of the file that it was made of.

    What several of them share nobody knows how to divide: those have no figures.
    """
    nodes = {node.name: node for node in graph.nodes}
    holders = Counter(name for names in holds for name in names)
    entries = []
    for op, names in zip(ops, holds, strict=True):
        macs = bytes_moved = None
        if names and all(holders[name] == 1 for name in names):
            members = [nodes[name] for name in names]
            macs = _sum([node.macs for node in members])
            bytes_moved = _bytes_moved(members, graph)
        roof_us = None if peak is None else _roof_us(macs, bytes_moved, peak)
        op_values = {op_field.name: getattr(op, op_field.name) for op_field in fields(OpTime)} | {
            "holds": names
        }
        entries.append(Operator(**op_values, macs=macs, bytes_moved=bytes_moved, roof_us=roof_us))
    return tuple(entries)


def _bytes_moved(members: Sequence[GraphNode], graph: NodeGraph) -> int | None:
    """What a group of nodes reads from outside and writes for others, each tensor once."""
    names = {node.name for node in members}
    inner_tensors = {tensor for node in members for tensor in node.writes}
    outer_tensors = set(graph.outputs)
    outer_tensors |= {
        tensor for node in graph.nodes if node.name not in names for tensor in node.reads
    }
    read = {t: size for node in members for t, size in node.reads.items() if t not in inner_tensors}
    writes = {t: size for node in members for t, size in node.writes.items() if t in outer_tensors}
    return _sum([*read.values(), *writes.values()])


def _roof_us(macs: int | None, bytes_moved: int | None, peak: Peak) -> float | None:
    """The least time that the machine's peaks allow; None where nothing is known or to do."""
    if macs is None or bytes_moved is None or not (macs or bytes_moved):
        return None
    return max(2 * macs / peak.flops_per_s, bytes_moved / peak.bytes_per_s) * 1e6


def _sum(values: Sequence[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    return sum(present) if len(present) == len(values) else None


FOR_S = 2.0
MINIMUM_RUNS, MAXIMUM_RUNS = 5, 100
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
    runtime = runtime_of_spec(case.runtime)
    settings = each(runtime, settings)[0]  # what one session computes, any other does too
    load_for(runtime, model, settings)
    reference = load_reference(model.references[axes_key(model.axes)])
    run_us = None
    with closing(runtime.compile(model, model.axes, settings)) as session:
        session.lanes[0].bind(reference.inputs)
        if session.execution.clock == "simulated":
            # How much is done before a request arrives depends on the pause before it.
            arrivals = AfterCompletion(1, round(case.scenario.gap_us * 1e3))
            session.simulate(arrivals, np.random.default_rng(0))
            runs, times = 1, session.operator_times(1)
        else:
            runs = _enough_runs(session.lanes[0].run)
            timed_run = session.lanes[0].run = _RunTimer(session.lanes[0].run)
            times = session.operator_times(runs)
            run_us = median(timed_run.spent_ns) / 1e3 if timed_run.spent_ns else None
        execution = session.execution
        graph = _graph(model.path, case.axes, session.executed_graph)
    peak = _peak(runtime, request, execution, graph)
    ops = operators(graph, times, source_nodes(graph, times), peak)
    return OperatorTimes(case.case_id, execution.clock, runs, ops, "", run_us, peak)


def _peak(
    runtime: Runtime, request: OperatorJob, execution: Execution, graph: NodeGraph
) -> Peak | None:
    """The peaks of what computed: of a device by its own figures, of the host by measurement."""
    settings = request.settings
    if runtime.accelerator:
        device = runtime.device_peak(settings.device, execution.precision)
        if device is None:
            return None
        return Peak(device.flops_per_s, device.bytes_per_s, graph.touched_bytes, device.how)
    if execution.clock != "wall" or execution.precision != "fp32":
        return None
    peaks = peaks_of_host(settings.threads, request.cache_dir)
    return peaks.at(graph.touched_bytes) if peaks else None


class _RunTimer:
    """A run that is timed here too: what the profiler adds to it shows."""

    def __init__(self, run: Callable[[], object]) -> None:
        self._run = run
        self.spent_ns: list[int] = []

    def __call__(self) -> object:
        start_ns = time.perf_counter_ns()
        result = self._run()
        self.spent_ns.append(time.perf_counter_ns() - start_ns)
        return result


def _graph(model: str, axes: Mapping[str, int], executed_path: Path | None) -> NodeGraph:
    """The nodes of the file, read by a process that may import onnx; none if it can't."""
    files = [model, json.dumps(dict(axes)), *([str(executed_path)] if executed_path else [])]
    command = install_layout.starter_command("exporters.onnx_files.inquiries", "nodes", *files)
    try:
        return from_json(NodeGraph, json.loads(install_layout.run_child(command).stdout))
    except ValueError:
        return NodeGraph()


def _enough_runs(run: Callable[[], object]) -> int:
    run()
    start_s = time.perf_counter()
    run()
    spent_s = time.perf_counter() - start_s
    return int(min(max(FOR_S / max(spent_s, 1e-6), MINIMUM_RUNS), MAXIMUM_RUNS))


if __name__ == "__main__":
    sys.exit(main())
