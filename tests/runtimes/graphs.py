"""The graphs of the contract with the torch modules behind them, and more for our own tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from onnx import ValueInfoProto, helper, parser

from app.contract.graphs import BATCHES, STEPS, constant, streamed, weights
from app.contract.graphs import Graphs as ContractGraphs
from exporters.types import ExportedModel, Factory, Reference, TensorSpec
from tests.runtimes.torch_factories import WIDTH

__all__ = ["BATCHES", "FACTORIES", "STEPS", "Graphs", "quantised_conv", "spec", "streamed"]

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
        text = f"(float[batch,{WIDTH}] x) => (float[batch,{WIDTH}] y) {{ y = MatMul(x, w) }}"
        return self.of_text("wide", text, Reference({"x": x}, {"y": x @ w}), w=w)

    def of_text(
        self, name: str, text: str, reference: Reference | None = None, **constants: object
    ) -> ExportedModel:
        """A graph in ONNX's text, each node called after its first output; sizes with names are 1
        where none is asked for, and in the reference."""
        graph = parser.parse_graph(f"{name} {text}")
        for graph_node in graph.node:
            graph_node.name = f"{graph_node.output[0]}_node"
        inputs, outputs = (tuple(map(spec, ends)) for ends in (graph.input, graph.output))
        axes = {size: 1 for end in inputs for size in end.shape if isinstance(size, str)}
        return self.save(
            name,
            graph.node,
            inputs,
            outputs,
            [constant(key, np.asarray(value)) for key, value in constants.items()],
            axes=axes,
            references=[(axes, reference)] if reference else [],
        )


def spec(value: ValueInfoProto) -> TensorSpec:
    """An input or output as its graph declares it."""
    kind = value.type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    sizes = tuple(size.dim_param or size.dim_value for size in kind.shape.dim)
    return TensorSpec(value.name, "str" if dtype.hasobject else dtype.name, sizes)


def _with_module(model: ExportedModel) -> ExportedModel:
    return replace(model, factory=Factory(f"{FACTORIES}:{model.name}"))


def quantised_conv(graphs: Graphs, name: str, tail: str = "Relu(cd)") -> ExportedModel:
    """x -> Q/DQ -> Conv (8-bit weights) -> Q/DQ -> tail, as quantising tools write it."""
    text = f"""(float[batch,4,10] x) => (float[batch,8,8] y) {{
        xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)
        kd = DequantizeLinear(k, s, z) c = Conv(xd, kd)
        cq = QuantizeLinear(c, s, z) cd = DequantizeLinear(cq, s, z)
        y = {tail}
    }}"""
    return graphs.of_text(
        name,
        text,
        Reference({"x": weights(1, 4, 10)}, {}),
        s=np.float32(0.05),
        z=np.int8(0),
        k=np.random.default_rng(0).integers(-90, 90, (8, 4, 3)).astype(np.int8),
        float_kernel=weights(8, 8, 1),
    )
