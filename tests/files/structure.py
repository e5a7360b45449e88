"""Files with inner graphs, functions, unusual inputs and outputs, or undeclared shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper
from onnx.external_data_helper import set_external_data

from tests.files.kinds import (
    FLOAT,
    INT64,
    Kind,
    dense,
    draw,
    model,
    node,
    one,
    saved,
    value,
    written,
)

_LOOP = """(float[batch,8] x) => (float[batch,8] last, float[5,batch,8] all) {
    last, all = Loop <body = body (int64 i, bool c, float[batch,8] s)
        => (bool k, float[batch,8] t, float[batch,8] scan) {
            t = MatMul(s, w) k = Identity(c) scan = Identity(t)
        }> (n, , x)
}"""


def _branch() -> ModelProto:
    return written("""(bool c, float[batch,8] x) => (float[batch,8] y) {
        y = If <then_branch = a () => (float[] a) { a = Relu(x) },
                else_branch = b () => (float[] b) { b = Neg(x) }> (c)
    }""")


def _loop() -> ModelProto:
    """All states of five turns."""
    return written(_LOOP, w=draw(8, 8, scale=0.3), n=np.array(5))


def _scan() -> ModelProto:
    text = """(float[steps,4] x) => (float[4] last, float[steps,4] y) {
        last, y = Scan <num_scan_inputs = 1, body = body (float[4] s, float[4] e)
            => (float[4] t, float[4] o) { t = Add(s, e) o = Identity(t) }> (first, x)
    }"""
    return written(text, first=np.zeros(4, np.float32))


def _counted_loop() -> ModelProto:
    """A loop whose number of turns is an input."""
    text = _LOOP.replace("(float[batch,8] x)", "(int64 n, float[batch,8] x)", 1)
    return written(text.replace("float[5,batch,8]", "float[?,batch,8]"), w=draw(8, 8, scale=0.3))


def _function() -> ModelProto:
    body = [node("Add", ["a", "b"], ["c"]), node("Relu", ["c"], ["d"])]
    function = helper.make_function(
        "mine", "AddRelu", ["a", "b"], ["d"], body, [helper.make_opsetid("", 17)]
    )
    text = "(float[batch,8] x) => (float[batch,8] y) { y = mine.AddRelu(x, w) }"
    proto = written(text, 17, 8, [("mine", 1)], w=draw(8))
    proto.functions.append(function)
    return proto


def _nested_function() -> ModelProto:
    proto = _function()
    outer = [node("AddRelu", ["p", "q"], ["r"], domain="mine"), node("Neg", ["r"], ["s"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    proto.functions.append(helper.make_function("mine", "Outer", ["p", "q"], ["s"], outer, opsets))
    proto.graph.node[0].op_type = "Outer"
    return proto


def _many_inputs() -> ModelProto:
    names = [f"x{number}" for number in range(1000)]
    inputs = [value(name, FLOAT, ["batch", 4]) for name in names]
    return model([node("Sum", names, ["y"])], inputs, [value("y", FLOAT, ["batch", 4])])


def _many_outputs() -> ModelProto:
    names = [f"y{number}" for number in range(500)]
    nodes = [node("Split", ["x"], names, axis=1, num_outputs=500)]
    ends = [value(n, FLOAT, ["batch", 1]) for n in names]
    return model(nodes, [value("x", FLOAT, ["batch", 500])], ends, (), 18)


def _no_inputs() -> ModelProto:
    return written("() => (float[8,8] y) { y = MatMul(a, b) }", a=draw(8, 8), b=draw(8, 8, seed=2))


def _drawn() -> ModelProto:
    return written("() => (float[4,4] y) { y = RandomNormal <shape = [4, 4], seed = 1.0> () }")


def _part_drawn() -> ModelProto:
    """Dropout in training mode, with a seed, next to an output that has nothing random."""
    text = """(float[batch,64] x) => (float[batch,64] y, float[batch,64] z) {
        y = Dropout <seed = 7> (x, ratio, training)
        z = Relu(x)
    }"""
    return written(text, ratio=np.array(0.5, np.float32), training=np.array(True))


def _nonzero() -> ModelProto:
    return written("(float[batch,16] x) => (int64[2,?] y) { r = Relu(x) y = NonZero(r) }")


def _overlap_model() -> ModelProto:
    text = """(float[1,50,4] boxes, float[1,3,50] scores) => (int64[?,3] y) {
        y = NonMaxSuppression(boxes, scores, most, iou, least)
    }"""
    iou, least = np.array([0.5], np.float32), np.array([0.0], np.float32)
    return written(text, most=np.array([10]), iou=iou, least=least)


def _unique() -> ModelProto:
    nodes = [node("Unique", ["x"], ["y", "", "back"])]
    outputs = [value("y", INT64, [None]), value("back", INT64, [None])]
    return model(nodes, [value("x", INT64, ["n"])], outputs)


def _undeclared_output() -> ModelProto:
    proto = dense()
    proto.graph.output[0].ClearField("type")
    return proto


def _rankless_output() -> ModelProto:
    proto = dense()
    proto.graph.output[0].CopyFrom(value("y", FLOAT, None))
    return proto


def _rankless_input() -> ModelProto:
    return written("(float[] x) => (float[] y) { y = Relu(x) }")


def _unnamed_axes() -> ModelProto:
    proto = dense()
    proto.graph.input[0].CopyFrom(value("x", FLOAT, [None, 64]))
    return proto


def _empty_input() -> ModelProto:
    text = "(float[batch,4] x, float[batch,0] past) => (float[batch,4] y)"
    return written(f"{text} {{ y = Concat <axis = 1> (x, past) }}")


def _returned_input() -> ModelProto:
    return written("(float[batch,4] x) => (float[batch,4] y, float[batch,4] x) { y = Relu(x) }")


def _default_input() -> ModelProto:
    text = "(float[batch,4] x, float scale) => (float[batch,4] y) { y = Mul(x, scale) }"
    return written(text, scale=np.array(2.0, np.float32))


def _listed_constants() -> ModelProto:
    proto = dense(opset=8, ir=3)
    for tensor in proto.graph.initializer:
        proto.graph.input.append(value(tensor.name, tensor.data_type, list(tensor.dims)))
    return proto


def _sparse() -> ModelProto:
    values = helper.make_tensor("w", FLOAT, [3], [1.0, 2.0, 3.0])
    places = helper.make_tensor("places", INT64, [3], [0, 9, 18])
    proto = written("(float[batch,5] x) => (float[batch,4] y) { y = MatMul(x, w) }")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [5, 4]))
    return proto


def _scalar() -> ModelProto:
    return written("(float x) => (float y) { y = Mul(x, x) }")


def _unsorted_model() -> ModelProto:
    made = dense()
    nodes = list(reversed(made.graph.node))
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def _unknown_fields() -> ModelProto:
    """An attribute that ONNX's operator does not have, which the engine ignores."""
    proto = dense()
    proto.graph.node[0].attribute.append(helper.make_attribute("onnxruntime_note", 1))
    return proto


def _contradicting_output() -> ModelProto:
    """An output declared with other sizes than those that the graph gives."""
    proto = dense()
    proto.graph.output[0].CopyFrom(value("y", FLOAT, ["batch", 7]))
    return proto


_SIZES = {"input-rankless": ("x_0=2", "x_1=8")}

KINDS = tuple(
    one(group, name, make, _SIZES.get(name, ()))
    for group, name, make in (
        ("inner graphs and functions", "if", _branch),
        ("inner graphs and functions", "loop", _loop),
        ("inner graphs and functions", "loop-counted", _counted_loop),
        ("inner graphs and functions", "scan", _scan),
        ("inner graphs and functions", "function", _function),
        ("inner graphs and functions", "function-nested", _nested_function),
        ("inputs and outputs", "inputs-1000", _many_inputs),
        ("inputs and outputs", "outputs-500", _many_outputs),
        ("inputs and outputs", "inputs-none", _no_inputs),
        ("inputs and outputs", "inputs-none-drawn", _drawn),
        ("inputs and outputs", "outputs-part-drawn", _part_drawn),
        ("inputs and outputs", "input-scalar", _scalar),
        ("inputs and outputs", "input-empty", _empty_input),
        ("inputs and outputs", "input-returned", _returned_input),
        ("inputs and outputs", "input-default", _default_input),
        ("inputs and outputs", "constants-listed", _listed_constants),
        ("inputs and outputs", "constants-sparse", _sparse),
        ("shapes", "sizes-nonzero", _nonzero),
        ("shapes", "sizes-suppressed", _overlap_model),
        ("shapes", "sizes-unique", _unique),
        ("shapes", "output-undeclared", _undeclared_output),
        ("shapes", "output-rankless", _rankless_output),
        ("shapes", "output-contradicting", _contradicting_output),
        ("shapes", "input-rankless", _rankless_input),
        ("shapes", "axes-unnamed", _unnamed_axes),
        ("shapes", "nodes-shuffled", _unsorted_model),
        ("shapes", "attribute-unknown", _unknown_fields),
    )
)


BEYOND = 2**31 + 4096
"""The first byte of weights behind a hole of more than 2 GiB."""


def _external(folder: Path, location: str, name: str = "model.onnx") -> Path:
    path = folder / name
    (folder / location).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(dense(), path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def _hub_cache(folder: Path) -> Path:
    """The layout of Hugging Face's cache: links in a snapshot to blobs named by their content."""
    blobs = folder / "blobs"
    snapshot = folder / "snapshots" / "abc" / "onnx"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    path = _external(snapshot, "model.onnx_data")
    for blob, file in (("1111", path), ("2222", snapshot / "model.onnx_data")):
        file.rename(blobs / blob)
        file.symlink_to(Path("../../../blobs") / blob)
    return path


def _hard_links(folder: Path) -> Path:
    """A folder that a backup or a package store has linked: every file has two names."""
    original, linked_folder = folder / "original", folder / "linked"
    original.mkdir()
    linked_folder.mkdir()
    _external(original, "weights.bin")
    for file in original.iterdir():
        (linked_folder / file.name).hardlink_to(file)
    return linked_folder / "model.onnx"


def _link_to_file(folder: Path) -> Path:
    (folder / "real").mkdir()
    target = saved(dense(), folder / "real", "dense")
    (folder / "link.onnx").symlink_to(target)
    return folder / "link.onnx"


def _oversized_file(folder: Path) -> Path:
    """Weights at offsets before and behind a hole, so that the file is larger than 2 GiB."""
    made = model(
        [node("MatMul", ["x", "near"], ["a"]), node("MatMul", ["a", "far"], ["y"])],
        [value("x", FLOAT, ["batch", 16])],
        [value("y", FLOAT, ["batch", 16])],
    )
    data = folder / "weights.bin"
    with data.open("wb") as file:
        for name, offset, seed in (("near", 0, 1), ("far", BEYOND, 2)):
            array = draw(16, 16, seed=seed)
            tensor = TensorProto(
                name=name, data_type=FLOAT, dims=[16, 16], raw_data=array.tobytes()
            )
            set_external_data(tensor, "weights.bin", offset, array.nbytes)
            tensor.ClearField("raw_data")
            made.graph.initializer.append(tensor)
            file.seek(offset)
            file.write(array.tobytes())
    return saved(made, folder, "beyond")


def _two_files(folder: Path) -> Path:
    """Each tensor in a file of its own, as torch's exporter writes large models."""
    path = folder / "model.onnx"
    proto = dense()
    onnx.save(
        proto, path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0
    )
    return path


def _unusual_name(folder: Path) -> Path:
    path = folder / "modèle (1) 量化.onnx"
    path.write_bytes(dense().SerializeToString())
    return path


def _kind(name: str, build: Callable[[Path], Path]) -> Kind:
    return Kind("where weights lie", name, build)


STORED = (
    _kind("external", lambda folder: _external(folder, "weights.bin")),
    _kind("external-in-folder", lambda folder: _external(folder, "data/weights.bin")),
    _kind("external-two-files", _two_files),
    _kind("external-beyond-2-gib", _oversized_file),
    _kind("cache-of-links", _hub_cache),
    _kind("hard-links", _hard_links),
    _kind("link-to-file", _link_to_file),
    _kind("name-unusual", _unusual_name),
)
