"""Random graphs of what a card runs: dense layers, convolutions, LSTMs, and passes between them."""

from __future__ import annotations

import random

from runtimes.fpga.graph.graph import Graph
from tests.runtimes.fpga.graphs import ModelBuilder

_ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "Erf")


def random_graph(seed: int, least_nodes: int = 5, most_nodes: int = 50) -> Graph:
    """A graph with as many nodes as drawn, of vectors with 8 to 512 elements."""
    draw = random.Random(seed)
    builder = ModelBuilder(f"random {seed}")
    batch = draw.choice((1, 1, 1, 2, 8))
    width = draw.choice((8, 32, 100, 256))
    x = builder.input("x", [batch, width])
    same_width = [x]
    nodes = draw.randint(least_nodes, most_nodes)
    if draw.random() < 0.5:
        state = builder.input("s", [batch, width])
        following = builder.add("Tanh", builder.add("Add", x, state))
        x = builder.add("Add", following, state)
        builder.states.append(("s", following))
    while len(builder.nodes) < nodes:
        kind = draw.choice(("dense", "dense", "activation", "activation", "residual", "softmax"))
        if kind == "dense":
            following_width = draw.choice((8, 32, 100, 256, 512))
            x = builder.add("Gemm", x, builder.weights(width, following_width))
            if following_width != width:
                same_width = []
            width = following_width
        elif kind == "activation":
            x = builder.add(draw.choice(_ACTIVATIONS), x)
        elif kind == "residual" and same_width:
            x = builder.add("Add", x, draw.choice(same_width))
        elif kind == "softmax":
            x = builder.add("Softmax", x, axis=1)
        same_width.append(x)
    builder.output(x)
    for _, output in builder.states:
        builder.output(output)
    return builder.graph()
