"""A chain of large matrix products, as a graph and as the torch module behind it.

1.7 TFLOP a run: milliseconds on any GPU, beside which a launch is nothing, so what was not
waited for shows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import torch
from torch import nn

from exporters.types import ExportedModel, Factory, Reference, TensorSpec
from tests.runtimes.graphs import Graphs, constant, node
from tests.runtimes.torch_factories import weights

ROWS, WIDTH, LAYERS = 2048, 4096, 24


class Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.from_numpy(weights(WIDTH, WIDTH) / WIDTH**0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(LAYERS):
            x = x @ self.w
        return x


def chain() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Chain(), {"x": torch.zeros(ROWS, WIDTH)}


def chain_of_products(graphs: Graphs) -> ExportedModel:
    """The graph, with inputs and without expected outputs: those take a CPU too long."""
    names = ["x", *(f"h{index}" for index in range(1, LAYERS)), "y"]
    specs = [TensorSpec(name, "float32", (ROWS, WIDTH)) for name in ("x", "y")]
    model = graphs.save(
        "slow",
        [node("MatMul", [source, "w"], [target]) for source, target in pairwise(names)],
        specs[:1],
        specs[1:],
        [constant("w", weights(WIDTH, WIDTH) / WIDTH**0.5)],
        references=[({}, Reference({"x": weights(ROWS, WIDTH)}, {}))],
    )
    return replace(model, factory=Factory(f"{__file__}:chain"))
