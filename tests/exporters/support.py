"""A real export process for the exporters' tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import onnx
import onnxruntime
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, parser

from exporters import install_layout
from exporters.cache import Store
from exporters.codec import from_json, to_json
from exporters.inputs import seeded_inputs
from exporters.messages import ExportReply, ExportRequest, Outline, OutlineRequest
from exporters.onnx_files.input_roles import meant
from exporters.onnx_files.outline import outline
from exporters.types import ExportedModel, Reference, load_reference
from tests.checkout import ROOT


class WorkerProcess:
    """A real export process; `ask` sends one request and waits for its reply."""

    def __init__(
        self, cache: Path, command: Sequence[str] = install_layout.command("exporters.worker")
    ) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # A factory file of ours may import what lies beside the tests.
            env=install_layout.child_environment(
                {"PYTHONPATH": str(ROOT), **os.environ, "GRAPHLAP_CACHE": str(cache)}
            ),
        )

    def ask(self, request: ExportRequest) -> ExportReply:
        return self.say(json.dumps(to_json(request)))

    def export(self, request: ExportRequest) -> ExportedModel:
        reply = self.ask(request)
        assert reply.model is not None, reply.reason
        return reply.model

    def say(self, line: str) -> ExportReply:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply_line = next(text for text in self.process.stdout if text.strip())
        return from_json(ExportReply, json.loads(reply_line))

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


def stored(store: Store, key: str, content: bytes) -> Path:
    """Put an entry with one file of this content; its facts are its size."""
    with store.scratch() as folder:
        path = folder / "model.onnx"
        path.write_bytes(content)
        return store.put(key, {"size": len(content)}, {"model": path}).files["model"]


def only_reference(model: ExportedModel) -> Reference:
    """The reference of a model that has one point."""
    (file,) = model.references.values()
    return load_reference(file)


def by_engine(model: ExportedModel, reference: Reference) -> list[np.ndarray]:
    """What ONNX Runtime makes of the reference's inputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.path, options, providers=["CPUExecutionProvider"])
    return session.run([spec.name for spec in model.outputs], dict(reference.inputs))


LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
"""Real networks that come with onnx, their weights replaced by constants."""


def tensor(
    name: str, shape: Sequence[int | str | None] | None, element: int = TensorProto.FLOAT
) -> ValueInfoProto:
    """A graph's input or output; None for a dimension without a name, or for no shape at all."""
    return helper.make_tensor_value_info(name, element, shape)


def nodes_of(text: str) -> list[NodeProto]:
    """Nodes of ONNX's text, as `[first] a = Neg(x) y = vendor.Own <axis = 1> (a)`."""
    return [*parser.parse_graph(f"nodes () => () {{ {text} }}").node]


def graph(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    weights: Mapping[str, np.ndarray] | None = None,
    opset: int = 17,
    vendor: str = "",
) -> ModelProto:
    """A model of these nodes; `vendor` is a domain of operators that nobody else knows."""
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    opsets = [helper.make_opsetid("", opset)]
    if vendor:
        opsets.append(helper.make_opsetid(vendor, 1))
    proto = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    return helper.make_model(proto, opset_imports=opsets, ir_version=10)


def model_of(text: str, weights: Mapping[str, np.ndarray] | None = None) -> ModelProto:
    """A model of ONNX's text, as `(float[batch,?] x) => (float[] y) { y = Relu(x) }`."""
    proto = parser.parse_graph(f"graph {text}")
    proto.initializer.extend(
        numpy_helper.from_array(w, name) for name, w in (weights or {}).items()
    )
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def save_affine(path: Path, external: str = "", ir_version: int = 10) -> np.ndarray:
    """y = x @ w with x [batch, 64]; returns w. `external` names a file beside the model."""
    weights = np.random.default_rng(5).standard_normal((64, 32)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = tensor("x", ["batch", 64]), tensor("y", ["batch", 32])
    model = graph([node], [x], [y], {"w": weights}, opset=13)
    model.graph.name, model.ir_version = "affine", ir_version
    if ir_version < 4:
        model.graph.input.append(tensor("w", [64, 32]))
    onnx.save(
        model,
        path,
        save_as_external_data=bool(external),
        location=external or None,
        size_threshold=0,
    )
    return weights


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=3,
)


@cache
def drawn(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of the type; collections hold at most three."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return JSON
    if hint is int:
        return st.integers(-(2**63), 2**63 - 1)
    if is_typeddict(hint):
        values = {name: drawn(field_hint) for name, field_hint in get_type_hints(hint).items()}
        return st.fixed_dictionaries({}, optional=values)
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return st.builds(hint, **{f.name: drawn(hints[f.name]) for f in fields(hint) if f.init})
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(drawn(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(drawn, arguments))
    if origin is list:
        return st.lists(drawn(arguments[0]), max_size=3)
    if origin is frozenset:
        return st.frozensets(drawn(arguments[0]), max_size=3)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.text(max_size=5), drawn(arguments[1]), max_size=3)
    if arguments:
        return st.one_of(*map(drawn, arguments))
    return st.from_type(hint)


def sized(folder: Path, model: ModelProto) -> Outline:
    """What is found of a file with this graph."""
    onnx.save(model, folder / "model.onnx")
    return outline(OutlineRequest(str(folder / "model.onnx")))


def runs(folder: Path, found: Outline) -> None:
    """ONNX Runtime takes the sizes that were found."""
    path = folder / "model.onnx"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    session.run(None, seeded_inputs(meant(found.inputs, onnx.load(path)), found.assumed, 0))
