"""LSTM and GRU: for each time step one matrix over (input, hidden state), then the cell.

All gates are one matrix; its input and its recurrent half are padded separately, so that
the half which multiplies held state can be done before the request arrives.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtimes.fpga.graph.graph import Node
from runtimes.fpga.lower.builder import Builder
from runtimes.fpga.lower.steps import Matrix, Vectors


@dataclass(slots=True)
class _Direction:
    """One direction on its way through time: its state's freshness, and its last step.

    `gates` is the matrix of the gates that see the state as it is, `candidate` the one of
    a gate that sees it after the reset gate, None where there is none.
    """

    name: str
    times: range
    gates: int
    candidate: int | None
    fresh: bool
    after: tuple[int, ...]


def lstm(builder: Builder, node: Node) -> None:
    """LSTM: four gates; peepholes are one more update of the cell."""
    peepholes = len(node.inputs) > 7 and bool(node.inputs[7])
    _recur(builder, node, gates=4, updates=2 if peepholes else 1, reset_first=False)


def gru(builder: Builder, node: Node) -> None:
    """GRU: three gates; where the reset comes before the product, one waits for the others."""
    builder.extrapolate("a GRU")
    reset_first = not node.attributes.get("linear_before_reset", 0)
    _recur(builder, node, gates=3, updates=1, reset_first=reset_first)


def _recur(builder: Builder, node: Node, gates: int, updates: int, *, reset_first: bool) -> None:
    builder.require_constant(node, *node.inputs[1:3])
    masks = builder.freshness.elements(node.inputs[0])
    if node.attributes.get("layout", 0):
        masks = masks.swapaxes(0, 1)
    length, batch, inputs = masks.shape
    directions, _, hidden = builder.shape(node.inputs[2])
    if length > 1 or directions > 1:
        builder.extrapolate(f"{node.op} over {length} time steps in {directions} directions")
    # Without an initial state zeros are held, which count like any other held state.
    initial = [name for name in node.inputs[5:7] if name]
    stateless = not builder.graph.states
    ready = builder.after([node.inputs[0], *initial])
    ways = []
    for i in range(directions):
        name = node.name if directions == 1 else f"{node.name}.{i}"
        backwards = i == 1 or node.attributes.get("direction") == "reverse"
        rows = (gates - reset_first) * hidden
        ways.append(
            _Direction(
                name,
                range(length)[:: -1 if backwards else 1],
                builder.hold(Matrix(name, 1, rows, (inputs, hidden))),
                builder.hold(Matrix(f"{name} candidate", 1, hidden, (inputs, hidden)))
                if reset_first
                else None,
                stateless or any(builder.freshness.count(name) for name in initial),
                ready,
            )
        )
    # Both directions take turns, so that one fills the pipeline while the other drains.
    for turn in range(length):
        for way in ways:
            time = way.times[turn]
            label = f"{way.name}[{time}]" if length > 1 else way.name
            new = int(masks[time].any(axis=0).sum())
            vectors = _vectors(batch, inputs, new, hidden, state_is_fresh=way.fresh)
            way.fresh = way.fresh or new > 0
            elements = (batch * hidden, 0) if way.fresh else (0, batch * hidden)
            step = builder.multiply(label, way.gates, [vectors], way.after, recurrent=True)
            if way.candidate is not None:
                step = builder.sweep(f"{label} reset", 1, elements, (step,))
                vectors = _vectors(batch, inputs, new, hidden, state_is_fresh=way.fresh)
                step = builder.multiply(label, way.candidate, [vectors], (step,), recurrent=True)
            way.after = (builder.cell(f"{label} cell", elements, updates, step),)
    builder.made(node.outputs, tuple(sorted(step for way in ways for step in way.after)))


def _vectors(batch: int, inputs: int, new: int, hidden: int, *, state_is_fresh: bool) -> Vectors:
    """The columns of one time step: new inputs, older inputs, hidden state."""
    fresh, stale = ((hidden,), ()) if state_is_fresh else ((), (hidden,))
    return Vectors(batch, (new, *fresh), (inputs - new, *stale))
