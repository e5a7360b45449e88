"""A graph becomes steps: one function for each operator, found in one table.

An operator that is not in the table is named in the error; everything after this stage
knows only matrices, vectors and elements.
"""

from __future__ import annotations

from collections.abc import Callable

from runtimes.errors import Unsupported
from runtimes.fpga.graph.graph import Graph, Group, Node, fuse, passes, touches_float
from runtimes.fpga.lower import operators
from runtimes.fpga.lower.builder import Builder
from runtimes.fpga.lower.steps import Activations, Lowered

_BF16_BYTES = 2

_PUBLISHED_OPS = {"Relu", "Add"}
"""Element-wise operators that the published models contain."""

_LAYERS = {"Gemm": "dense", "MatMul": "dense"}
"""What a layer is called that several operators write."""
_GATES = {"LSTM": 4}
"""How many gates stand in the rows of one matrix."""

Lowering = Callable[[Builder, Node], None]

COMPUTE: dict[str, Lowering] = {
    "Conv": operators.convolution,
    "ConvTranspose": operators.transposed_convolution,
    "Gemm": operators.gemm,
    "MatMul": operators.matmul,
    "LSTM": operators.lstm,
    "GRU": operators.gru,
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), operators.pool),
    **dict.fromkeys(
        (
            *("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "Hardmax"),
            *("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd"),
            *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
            *("ArgMax", "ArgMin"),
        ),
        operators.reduction,
    ),
    **dict.fromkeys(("Softmax", "LogSoftmax"), operators.in_three),
    **dict.fromkeys(
        (
            *("LayerNormalization", "InstanceNormalization", "GroupNormalization"),
            "MeanVarianceNormalization",
        ),
        operators.normalisation,
    ),
    **dict.fromkeys(("LpNormalization", "RMSNormalization"), operators.vector_norm),
    "LRN": operators.local_response,
}

MOVE: dict[str, Lowering] = {
    **dict.fromkeys(
        (
            *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"),
            *("Concat", "Split"),
        ),
        operators.free,
    ),
    **dict.fromkeys(
        ("Expand", "Tile", "DepthToSpace", "SpaceToDepth", "GatherElements", "GatherND"),
        operators.copy,
    ),
    "Transpose": operators.transpose,
    "Gather": operators.gather,
    "Slice": operators.cut,
    "Pad": operators.pad,
}


def lower(graph: Graph) -> Lowered:
    """The graph as steps; Unsupported names a node with no lowering or no path for its type."""
    builder = Builder(graph)
    layers: dict[str, tuple[int, int]] = {}
    sizes = {name: _bytes(builder, [name]) for name in graph.values}
    activations = Activations(graph, sizes)
    for group in fuse(graph):
        held_before, steps_before = len(builder.matrices), len(builder.steps)
        _lower_group(builder, group)
        steps = range(steps_before, len(builder.steps))
        reads = [name for node in group.nodes for name in node.inputs]
        activations.lowered(reads, filter(None, group.nodes[-1].outputs), steps)
        layer_matrices = builder.matrices[held_before:]
        if layer_matrices:
            name = _LAYERS.get(group.nodes[0].op, group.nodes[0].op)
            count, width = layers.get(name, (0, 0))
            widest = max(matrix.rows for matrix in layer_matrices) // _GATES.get(name, 1)
            layers[name] = count + len(layer_matrices), max(width, widest)
    states = {name for pair in graph.states for name in pair}
    sent_inputs = [name for name in graph.inputs if name not in states]
    fetched_outputs = [name for name in graph.outputs if name not in states]
    return Lowered(
        name=graph.name,
        matrices=tuple(builder.matrices),
        steps=tuple(builder.steps),
        input_bytes=_bytes(builder, sent_inputs),
        output_bytes=_bytes(builder, fetched_outputs),
        extrapolated=builder.extrapolated or ("" if builder.matrices else "no matrix product"),
        layers=layers,
        buffers=activations.buffers(len(builder.steps)),
        rows=_rows([builder.shape(name) for name in (*sent_inputs, *fetched_outputs)]),
        output_steps=builder.after(fetched_outputs),
    )


def _lower_group(builder: Builder, group: Group) -> None:
    first = group.nodes[0]
    if _is_hosts(builder, group):
        for node in group.nodes:
            operators.free(builder, node)
        return
    if first.op in MOVE and not first.domain:
        MOVE[first.op](builder, first)
        return
    for node in group.nodes:
        builder.check_dtypes(node)
    if group.kind == "chain":
        _chain(builder, group)
    elif first.op in COMPUTE and not first.domain:
        COMPUTE[first.op](builder, first)
        builder.made([group.output], builder.after([first.outputs[0]]))
    else:
        raise Unsupported(
            f"the card has no way to run {first.op} (node {first.name!r})",
            "leave that part to another runtime",
            node=first.name,
        )


def _is_hosts(builder: Builder, group: Group) -> bool:
    """Whether a group touches no float; masks that the card made stay on the card."""
    if any(touches_float(builder.graph, node) for node in group.nodes):
        return False
    return group.kind != "chain" or not builder.after([i for n in group.nodes for i in n.inputs])


def _chain(builder: Builder, group: Group) -> None:
    """Element-wise nodes in one step; a change of number format alone costs nothing."""
    inputs = tuple(dict.fromkeys(name for node in group.nodes for name in node.inputs if name))
    if all(node.op == "Cast" for node in group.nodes):
        builder.made([group.output], builder.after(inputs))
        return
    for node in group.nodes:
        if node.op not in _PUBLISHED_OPS:
            builder.extrapolate(node.op)
    builder.sweep_output(group.name, passes(group.nodes), inputs, group.output)


def _rows(shapes: list[tuple[int, ...]]) -> int:
    """The first axis that all of them share; 1 where they share none."""
    firsts = {shape[0] if shape else 1 for shape in shapes}
    return firsts.pop() if len(firsts) == 1 else 1


def _bytes(builder: Builder, names: list[str]) -> int:
    return sum(_BF16_BYTES * builder.size(name) for name in names)
