"""The graphs of the contract with the torch modules behind them, and more for our own tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from app.contract.graphs import BATCHES, STEPS, constant, node, streamed, weights
from app.contract.graphs import Graphs as ContractGraphs
from exporters.types import ExportedModel, Factory, Reference, TensorSpec
from tests.runtimes.torch_factories import WIDTH

__all__ = ["BATCHES", "STEPS", "Graphs", "constant", "node", "quantised_conv", "streamed", "vector"]

FACTORIES = Path(__file__).with_name("torch_factories.py")


class Graphs(ContractGraphs):
    """`wide` is large enough for its time to be seen."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.dense = _with_module(self.dense)
        self.step = _with_module(self.step)
        self.lookup = _with_module(self.lookup)
        self.wide = _with_module(self._wide())

    def _wide(self) -> ExportedModel:
        w, x = weights(WIDTH, WIDTH, seed=4), weights(1, WIDTH, seed=15)
        specs = [TensorSpec(name, "float32", ("batch", WIDTH)) for name in ("x", "y")]
        return self.save(
            "wide",
            [node("MatMul", ["x", "w"], ["y"])],
            specs[:1],
            specs[1:],
            [constant("w", w)],
            axes={"batch": 1},
            references=[({"batch": 1}, Reference({"x": x}, {"y": x @ w}))],
        )


def _with_module(model: ExportedModel) -> ExportedModel:
    return replace(model, factory=Factory(f"{FACTORIES}:{model.name}"))


def vector(name: str, dtype: str = "float32", *shape: int | str) -> TensorSpec:
    """An input or output; four numbers where no shape is given."""
    return TensorSpec(name, dtype, shape or (4,))


def quantised_conv(graphs: Graphs, name: str, tail: str = "Relu") -> ExportedModel:
    """x -> Q/DQ -> Conv (8-bit weights) -> Q/DQ -> tail, as quantising tools write it."""
    scale, zero = constant("s", np.array(0.05, np.float32)), constant("z", np.array(0, np.int8))
    kernel = np.random.default_rng(0).integers(-90, 90, (8, 4, 3)).astype(np.int8)
    grid = ["s", "z"]
    nodes = [
        node("QuantizeLinear", ["x", *grid], ["xq"]),
        node("DequantizeLinear", ["xq", *grid], ["xd"]),
        node("DequantizeLinear", ["k", *grid], ["kd"]),
        node("Conv", ["xd", "kd"], ["c"]),
        node("QuantizeLinear", ["c", *grid], ["cq"]),
        node("DequantizeLinear", ["cq", *grid], ["cd"]),
        *(
            [node("Conv", ["cd", "float_kernel"], ["y"])]
            if tail == "Conv"
            else [node(tail, ["cd"], ["y"])]
        ),
    ]
    x = weights(1, 4, 10)
    return graphs.save(
        name,
        nodes,
        [TensorSpec("x", "float32", ("batch", 4, 10))],
        [TensorSpec("y", "float32", ("batch", 8, 8))],
        [scale, zero, constant("k", kernel), constant("float_kernel", weights(8, 8, 1))],
        axes={"batch": 1},
        references=[({"batch": 1}, Reference({"x": x}, {}))],
    )
