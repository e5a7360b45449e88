"""Multiply-accumulates of one run, where inference knows too few shapes or too little of loops and
branches."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from onnx.inliner import inline_local_functions

from exporters.engine_values import input_values
from exporters.inputs import cast_inputs
from exporters.onnx_files.counts import constants
from exporters.onnx_files.evaluator import WEIGHTS_FOLDER, opened
from exporters.onnx_files.graph import Shape, inner_graphs, nodes_of
from exporters.onnx_files.products import node_macs
from exporters.types import Made, TensorSpec, load_reference

MACS = "macs"
_KERNEL = "_kernel_time"
_MOST_EVENTS = 1_000_000
"""Where ONNX Runtime ends a recording."""


def counted(
    folder: Path,
    graph: Path,
    reference: str,
    inputs: tuple[TensorSpec, ...],
    custom_ops: tuple[str, ...],
) -> Made:
    """The step: the multiply-accumulates of a run on the inputs of a reference's file; None if the
    run fails, or some product has no formula."""
    try:
        return Made({}, {MACS: _macs(graph, reference, inputs, custom_ops)})
    except Exception:  # of the engine, which may refuse what another one runs
        return Made({}, {MACS: None})


def _macs(
    path: Path, reference: str, inputs: tuple[TensorSpec, ...], custom_ops: tuple[str, ...]
) -> int | None:
    """From the engine's recording, which has each kernel as often as it ran, with its shapes."""
    model = onnx.load(path, load_external_data=False)
    if model.functions:
        model = inline_local_functions(model)
    weights = constants(model.graph, {})
    nodes = {}
    for number, node in enumerate(nodes_of(model.graph)):
        node.name = str(number)
        if not any(name in weights for name in node.output if name):  # else computed at loading
            nodes[f"{node.name}{_KERNEL}"] = node
    feeds = input_values(inputs, cast_inputs(load_reference(reference).inputs, inputs))
    total = 0
    with TemporaryDirectory(prefix="graphlap-macs-") as scratch:
        # A weight that a kernel has packed for itself is not in the recording.
        entries = {WEIGHTS_FOLDER: str(path.parent), "session.disable_prepacking": "1"}
        recording = Path(scratch, "run")
        session = opened(model.SerializeToString(), custom_ops, entries, recording)
        session.run_with_ort_values([value.name for value in model.graph.output], feeds)
        events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    if len(events) >= _MOST_EVENTS:
        return None
    for event in events:
        if event["name"] not in nodes:
            continue
        node = nodes[event["name"]]
        if any(inner_graphs(node)):
            continue
        shapes: dict[str, Shape] = {}
        for names, place in ((node.input, "input"), (node.output, "output")):
            held = [shape for of in event["args"][f"{place}_type_shape"] for shape in of.values()]
            present = [name for name in names if name]
            if len(held) == len(present):  # some may be no tensors
                shapes |= zip(present, map(tuple, held), strict=True)
        macs = node_macs(node, shapes)
        if macs is None:
            return None
        total += macs
    return total
