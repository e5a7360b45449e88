"""The kinds of torch modules that people bring, small: a factory for each, as a user writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

ROWS, EDGES = 6, 15


@dataclass
class Answer:
    score: torch.Tensor
    parts: tuple[torch.Tensor, dict[str, torch.Tensor]]
    note: str = "no tensor"


class Keywords(nn.Module):
    """Takes keywords only, returns a dataclass of a tensor and a tuple with a dict in it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(30, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, *, input_ids: torch.Tensor, keep: torch.Tensor) -> Answer:
        features = self.table(input_ids) * keep[..., None]
        return Answer(self.head(features.sum(1)), (features, {"largest": features.argmax(-1)}))


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Nested(nn.Module):
    """Takes a tuple and a dict of tensors beside a number, returns a dict."""

    def forward(
        self, pair: Pair, extra: dict[str, torch.Tensor], scale: float
    ) -> dict[str, torch.Tensor | None]:
        return {"sum": (pair.left + pair.right) * scale, "none": None, "bias": extra["b"] + 1}


class Tables(nn.Module):
    """One matrix of ids, each column for a table of another size."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(rows, 4) for rows in (3, 50, 900)])
        self.head = nn.Linear(12, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        columns = [table(ids[:, place]) for place, table in enumerate(self.tables)]
        return self.head(torch.cat(columns, 1))


class Graph(nn.Module):
    """A layer over nodes [n, 4] and edges [2, e]: nothing in it is a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(x.shape).index_add(0, edges[1], self.layer(x)[edges[0]])


class OtherAtTwo(nn.Module):
    """A graph of it with an open batch has the wrong numbers at every size but one."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2.0 if x.shape[0] == 2 else x * 3.0


class Branching(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x + 1
        return x - 1


def keywords() -> Any:
    ids = torch.arange(10).reshape(2, 5)
    axes = {"input_ids": ["batch", "sequence"], "keep": {0: "batch", 1: "sequence"}}
    return Keywords(), {"keep": torch.ones(2, 5), "input_ids": ids}, {"axes": axes}


def nested() -> Any:
    left = torch.randn(2, 4)
    return Nested(), ((Pair(left, left + 1), {"b": torch.randn(2, 3)}), {"scale": 0.5})


def tables() -> Any:
    return Tables(), {"ids": torch.tensor([[2, 49, 899], [0, 20, 600]])}


def graph() -> Any:
    torch.manual_seed(1)
    return Graph(), {"x": torch.randn(ROWS, 4), "edges": torch.randint(0, ROWS, (2, EDGES))}


def graph_with_axes() -> Any:
    module, inputs = graph()
    return module, inputs, {"axes": {"edges": [None, "edges"]}}


def other_at_two() -> Any:
    return OtherAtTwo(), {"x": torch.ones(1, 4)}


def branching() -> Any:
    return Branching(), {"x": torch.ones(1, 4)}


def none() -> Any:
    nn.Linear(1, 1)


def generator() -> Any:
    yield nn.Linear(1, 1)


def on_meta() -> Any:
    return nn.Linear(2, 2), {"x": torch.zeros(1, 2, device="meta")}


def weights_on_meta() -> Any:
    return nn.Linear(2, 2, device="meta"), {"x": torch.zeros(1, 2)}


def narrow() -> Any:
    return nn.Linear(2, 2, dtype=torch.bfloat16), {"x": torch.ones(1, 2, dtype=torch.bfloat16)}


def no_tensor() -> Any:
    return nn.Linear(2, 2), {"input": 3}


def misnamed_axes() -> Any:
    return nn.Linear(2, 2), {"input": torch.zeros(1, 2)}, {"axes": {"inputs": ["batch"]}}


def too_many_axes() -> Any:
    return nn.Linear(2, 2), {"input": torch.zeros(1, 2)}, {"axes": {"input": ["batch", None, "c"]}}


def two_sizes() -> Any:
    axes = {"input_ids": ["batch", "sequence"], "keep": ["batch", "sequence"]}
    inputs = {"keep": torch.ones(1, 5), "input_ids": torch.zeros(1, 4, dtype=torch.int64)}
    return Keywords(), inputs, {"axes": axes}


def misspelt_option() -> Any:
    return nn.Linear(2, 2), {"input": torch.zeros(1, 2)}, {"axis": {}}
