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
    constant,
    dense,
    draw,
    model,
    node,
    one,
    saved,
    value,
)

BOOL = TensorProto.BOOL


def _branch() -> ModelProto:
    def branch(name: str, op: str) -> object:
        return helper.make_graph([node(op, ["x"], [name])], name, [], [value(name, FLOAT, None)])

    nodes = [
        node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=branch("b", "Neg")),
    ]
    inputs = [value("c", BOOL, []), value("x", FLOAT, ["batch", 8])]
    return model(nodes, inputs, [value("y", FLOAT, ["batch", 8])])


def _loop() -> ModelProto:
    inner = helper.make_graph(
        [
            node("MatMul", ["s", "w"], ["t"]),
            node("Identity", ["c"], ["k"]),
            node("Identity", ["t"], ["scan"]),
        ],
        "body",
        [value("i", INT64, []), value("c", BOOL, []), value("s", FLOAT, ["batch", 8])],
        [value("k", BOOL, []), value("t", FLOAT, ["batch", 8]), value("scan", FLOAT, ["batch", 8])],
    )
    nodes = [node("Loop", ["n", "", "x"], ["last", "all"], body=inner)]
    constants = [constant("w", draw(8, 8, scale=0.3)), constant("n", np.array(5))]
    outputs = [value("last", FLOAT, ["batch", 8]), value("all", FLOAT, [5, "batch", 8])]
    return model(nodes, [value("x", FLOAT, ["batch", 8])], outputs, constants)


def _scan() -> ModelProto:
    inner = helper.make_graph(
        [node("Add", ["s", "e"], ["t"]), node("Identity", ["t"], ["o"])],
        "body",
        [value("s", FLOAT, [4]), value("e", FLOAT, [4])],
        [value("t", FLOAT, [4]), value("o", FLOAT, [4])],
    )
    nodes = [node("Scan", ["first", "x"], ["last", "y"], body=inner, num_scan_inputs=1)]
    outputs = [value("last", FLOAT, [4]), value("y", FLOAT, ["steps", 4])]
    first = constant("first", np.zeros(4, np.float32))
    return model(nodes, [value("x", FLOAT, ["steps", 4])], outputs, [first])


def _counted_loop() -> ModelProto:
    """A loop whose number of turns is an input."""
    proto = _loop()
    del proto.graph.initializer[1]
    proto.graph.input.insert(0, value("n", INT64, []))
    proto.graph.output[1].CopyFrom(value("all", FLOAT, [None, "batch", 8]))
    return proto


def _function() -> ModelProto:
    body = [node("Add", ["a", "b"], ["c"]), node("Relu", ["c"], ["d"])]
    function = helper.make_function(
        "mine", "AddRelu", ["a", "b"], ["d"], body, [helper.make_opsetid("", 17)]
    )
    proto = model(
        [node("AddRelu", ["x", "w"], ["y"], domain="mine")],
        [value("x", FLOAT, ["batch", 8])],
        [value("y", FLOAT, ["batch", 8])],
        [constant("w", draw(8))],
        domains=[("mine", 1)],
    )
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
    return model(
        nodes,
        [value("x", FLOAT, ["batch", 500])],
        [value(n, FLOAT, ["batch", 1]) for n in names],
        (),
        18,
    )


def _no_inputs() -> ModelProto:
    nodes = [node("MatMul", ["a", "b"], ["y"])]
    constants = [constant("a", draw(8, 8)), constant("b", draw(8, 8, seed=2))]
    return model(nodes, [], [value("y", FLOAT, [8, 8])], constants)


def _drawn() -> ModelProto:
    nodes = [node("RandomNormal", [], ["y"], shape=[4, 4], seed=1.0)]
    return model(nodes, [], [value("y", FLOAT, [4, 4])])


def _part_drawn() -> ModelProto:
    """Dropout in training mode, with a seed, next to an output that has nothing random."""
    nodes = [
        node("Dropout", ["x", "ratio", "training"], ["y"], seed=7),
        node("Relu", ["x"], ["z"]),
    ]
    constants = [
        constant("ratio", np.array(0.5, np.float32)),
        constant("training", np.array(True)),
    ]
    outputs = [value(name, FLOAT, ["batch", 64]) for name in "yz"]
    return model(nodes, [value("x", FLOAT, ["batch", 64])], outputs, constants)


def _nonzero() -> ModelProto:
    nodes = [node("Relu", ["x"], ["r"]), node("NonZero", ["r"], ["y"])]
    return model(nodes, [value("x", FLOAT, ["batch", 16])], [value("y", INT64, [2, None])])


def _overlap_model() -> ModelProto:
    nodes = [node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["y"])]
    constants = [
        constant("most", np.array([10])),
        constant("iou", np.array([0.5], np.float32)),
        constant("least", np.array([0.0], np.float32)),
    ]
    inputs = [value("boxes", FLOAT, [1, 50, 4]), value("scores", FLOAT, [1, 3, 50])]
    return model(nodes, inputs, [value("y", INT64, [None, 3])], constants)


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
    nodes = [node("Relu", ["x"], ["y"])]
    return model(nodes, [value("x", FLOAT, None)], [value("y", FLOAT, None)])


def _unnamed_axes() -> ModelProto:
    proto = dense()
    proto.graph.input[0].CopyFrom(value("x", FLOAT, [None, 64]))
    return proto


def _empty_input() -> ModelProto:
    nodes = [node("Concat", ["x", "past"], ["y"], axis=1)]
    inputs = [value("x", FLOAT, ["batch", 4]), value("past", FLOAT, ["batch", 0])]
    return model(nodes, inputs, [value("y", FLOAT, ["batch", 4])])


def _returned_input() -> ModelProto:
    nodes = [node("Relu", ["x"], ["y"])]
    x = value("x", FLOAT, ["batch", 4])
    return model(nodes, [x], [value("y", FLOAT, ["batch", 4]), x])


def _default_input() -> ModelProto:
    nodes = [node("Mul", ["x", "scale"], ["y"])]
    inputs = [value("x", FLOAT, ["batch", 4]), value("scale", FLOAT, [])]
    constants = [constant("scale", np.array(2.0, np.float32))]
    return model(nodes, inputs, [value("y", FLOAT, ["batch", 4])], constants)


def _listed_constants() -> ModelProto:
    proto = dense(opset=8, ir=3)
    for tensor in proto.graph.initializer:
        proto.graph.input.append(value(tensor.name, tensor.data_type, list(tensor.dims)))
    return proto


def _sparse() -> ModelProto:
    values = helper.make_tensor("w", FLOAT, [3], [1.0, 2.0, 3.0])
    places = helper.make_tensor("places", INT64, [3], [0, 9, 18])
    proto = model(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", FLOAT, ["batch", 5])],
        [value("y", FLOAT, ["batch", 4])],
    )
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [5, 4]))
    return proto


def _scalar() -> ModelProto:
    nodes = [node("Mul", ["x", "x"], ["y"])]
    return model(nodes, [value("x", FLOAT, [])], [value("y", FLOAT, [])])


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
