"""ONNX graphs with expected outputs computed by plain numpy, as `ExportedModel` values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from exporters.types import (
    ExportedModel,
    Reference,
    StatePair,
    TensorSpec,
    axes_key,
    save_reference,
)

CHANNELS, OUTPUTS, WORDS = 4, 3, 7


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal float32 numbers, the same in every process."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


BATCHES = (1, 3)
STEPS = 5
_OPSET, _IR_VERSION = 20, 10

_TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int64": TensorProto.INT64,
    "int16": TensorProto.INT16,
    "bool": TensorProto.BOOL,
    "str": TensorProto.STRING,
}


def constant(name: str, value: np.ndarray | np.generic) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(value), name)


def node(
    op: str, inputs: Iterable[str], outputs: Iterable[str], **attributes: Any
) -> onnx.NodeProto:
    """A node that is called after its first output."""
    outputs = list(outputs)
    return helper.make_node(op, list(inputs), outputs, name=f"{outputs[0]}_node", **attributes)


class Graphs:
    """The graphs of the contract, written to a folder, and `save` for more of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dense = self._dense()
        self.step = self._step()
        self.lookup = self._lookup()

    def save(
        self,
        name: str,
        nodes: Iterable[onnx.NodeProto],
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        constants: Iterable[onnx.TensorProto] = (),
        *,
        axes: Mapping[str, int] | None = None,
        references: Iterable[tuple[Mapping[str, int], Reference]] = (),
    ) -> ExportedModel:
        """Write the file as it is told, unchecked, so that broken graphs can be made too."""
        inputs, outputs = tuple(inputs), tuple(outputs)
        graph = helper.make_graph(
            list(nodes), name, _values(inputs), _values(outputs), list(constants)
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        path = self.folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        paths = {}
        for point, reference in references:
            paths[axes_key(point)] = str(self.folder / f"{name}.{axes_key(point)}.npz")
            save_reference(paths[axes_key(point)], reference)
        return ExportedModel(
            name=name,
            suite="",
            family="",
            path=str(path),
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            opset=_OPSET,
            precision="fp32",
            inputs=inputs,
            outputs=outputs,
            axes={} if axes is None else axes,
            references=paths,
            reference="numpy",
        )

    def _dense(self) -> ExportedModel:
        w = weights(CHANNELS, OUTPUTS)
        references = []
        for batch in BATCHES:
            x = weights(batch, CHANNELS, seed=10)
            references.append(({"batch": batch}, Reference({"x": x}, {"y": np.maximum(x @ w, 0)})))
        return self.save(
            "dense",
            [node("MatMul", ["x", "w"], ["z"]), node("Relu", ["z"], ["y"])],
            [TensorSpec("x", "float32", ("batch", CHANNELS))],
            [TensorSpec("y", "float32", ("batch", OUTPUTS))],
            [constant("w", w)],
            axes={"batch": 1},
            references=references,
        )

    def _step(self) -> ExportedModel:
        w, u = weights(CHANNELS, CHANNELS, seed=1), weights(CHANNELS, CHANNELS, seed=2)
        shape = ("batch", CHANNELS)
        references = []
        for batch in BATCHES:
            x, h, older = (weights(batch, CHANNELS, seed=seed) for seed in (11, 12, 13))
            following = np.tanh(x @ w + h @ u)
            outputs = {"y": following + older, "h_out": following, "older_out": h}
            reference = Reference({"x": x, "h": h, "older": older}, outputs)
            references.append(({"batch": batch}, reference))
        model = self.save(
            "step",
            [
                node("MatMul", ["x", "w"], ["xw"]),
                node("MatMul", ["h", "u"], ["hu"]),
                node("Add", ["xw", "hu"], ["sum"]),
                node("Tanh", ["sum"], ["h_out"]),
                node("Add", ["h_out", "older"], ["y"]),
                node("Identity", ["h"], ["older_out"]),
            ],
            [TensorSpec(name, "float32", shape) for name in ("x", "h", "older")],
            [TensorSpec(name, "float32", shape) for name in ("y", "h_out", "older_out")],
            [constant("w", w), constant("u", u)],
            axes={"batch": 1},
            references=references,
        )
        # In the order that overwrites one state with another if it is done carelessly.
        states = StatePair("h", "h_out"), StatePair("older", "older_out")
        return replace(model, states=states)

    def _lookup(self) -> ExportedModel:
        table = weights(WORDS, CHANNELS, seed=3)
        references = []
        for batch in BATCHES:
            ids = np.random.default_rng(14).integers(0, WORDS, (batch, 5))
            keep = np.arange(batch) % 2 == 0
            reference = Reference({"ids": ids, "keep": keep}, {"y": table[ids], "drop": ~keep})
            references.append(({"batch": batch}, reference))
        return self.save(
            "lookup",
            [node("Gather", ["table", "ids"], ["y"]), node("Not", ["keep"], ["drop"])],
            [
                TensorSpec("ids", "int64", ("batch", 5), 0, WORDS),
                TensorSpec("keep", "bool", ("batch",)),
            ],
            [
                TensorSpec("y", "float32", ("batch", 5, CHANNELS)),
                TensorSpec("drop", "bool", ("batch",)),
            ],
            [constant("table", table)],
            axes={"batch": 1},
            references=references,
        )


def streamed(inputs: np.ndarray) -> np.ndarray:
    """What `step` gives for a whole sequence [steps, batch, CHANNELS] from a state of zeros."""
    w, u = weights(CHANNELS, CHANNELS, seed=1), weights(CHANNELS, CHANNELS, seed=2)
    hidden_states = [np.zeros_like(inputs[0])] * 2
    results = []
    for x in inputs:
        hidden_states.append(np.tanh(x @ w + hidden_states[-1] @ u))
        results.append(hidden_states[-1] + hidden_states[-3])
    return np.stack(results)


def _values(specs: Iterable[TensorSpec]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(s.name, _TYPES[s.dtype], list(s.shape)) for s in specs]
