"""Random graphs of several nodes: shared tensors and weights, inner graphs, ends of the ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
LOWEST = float(np.finfo(np.float32).min)
Item = TypeVar("Item")
_WEIGHT_FORMS = ("weight", "constant", "value_floats")
"""Where a graph may hold a constant: an initialiser, or a Constant node of two forms."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A graph and the arrays that it is fed; `kind` is the operator or the kind of graph, and
    `roundings` how often in a row its values are rounded to bf16."""

    kind: str
    proto: onnx.ModelProto
    feeds: Mapping[str, Any]
    roundings: int = 1


class Dice:
    """Random choices from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.integer(0, len(items) - 1)]

    def broadcast(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts to `shape`."""
        sizes = tuple(1 if self.chance(0.3) else size for size in shape)
        return sizes[self.integer(0, len(sizes)) :] if self.chance(0.4) else sizes


class Sketch:
    """A graph while it is drawn; all its tensors are float32 of known shapes."""

    def __init__(self, dice: Dice, opset: int) -> None:
        self.dice, self.opset = dice, opset
        self.nodes: list[onnx.NodeProto] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.feeds: dict[str, np.ndarray] = {}
        self.masks: set[str] = set()

    def feed(self, *shape: int) -> str:
        name = f"in{len(self.feeds)}"
        self.feeds[name] = np.asarray(self.dice.rng.standard_normal(shape), np.float32)
        self.shapes[name] = shape
        return name

    def hold(self, value: np.ndarray | np.generic, form: str = "") -> str:
        """A constant in any of the forms that a graph may hold it in."""
        array = np.asarray(value)
        name = f"c{len(self.weights) + len(self.nodes)}"
        form = form or self.dice.pick([*_WEIGHT_FORMS, "weight", "weight"])
        if form == "value_floats" and array.ndim == 1 and self.opset >= 12 and array.size:
            node = helper.make_node("Constant", [], [name], value_floats=array.tolist())
            self.nodes.append(node)
        elif form == "constant":
            tensor = numpy_helper.from_array(array)
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.weights[name] = array
        return name

    def add(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        title = name if self.dice.chance(0.8) else ""
        self.nodes.append(helper.make_node(op, inputs, [name], title, **attributes))
        self.shapes[name] = shape
        return name

    def pick(self, rank: int | None = None) -> str:
        """A tensor so far; one of the last three, or any."""
        names = [n for n, s in self.shapes.items() if rank is None or len(s) == rank]
        return self.dice.pick(names[-3:] if self.dice.chance(0.6) else names)

    def normal(self, *shape: int) -> np.ndarray:
        return np.asarray(self.dice.rng.standard_normal(shape), np.float32)

    def done(self, kind: str, roundings: int = 8) -> Draw:
        """The graph with its last tensor and one or two others as outputs."""
        output_names = [name for node in self.nodes for name in node.output if name in self.shapes]
        chosen_names = [output_names[-1]]
        other_names = [*output_names[:-1], *([*self.feeds] if self.dice.chance(0.1) else [])]
        chosen_names += (
            [self.dice.pick(other_names)] if other_names and self.dice.chance(0.5) else []
        )
        outputs = dict.fromkeys(chosen_names, FLOAT)
        proto = model(self.nodes, self.feeds, outputs, self.weights, self.opset)
        for value in proto.graph.output:
            shape = self.shapes[value.name]
            value.CopyFrom(helper.make_tensor_value_info(value.name, FLOAT, shape))
        return Draw(kind, proto, self.feeds, roundings)


def model(
    nodes: Sequence[onnx.NodeProto],
    feeds: Mapping[str, np.ndarray],
    outputs: Mapping[str, int],
    constants: Mapping[str, np.ndarray],
    opset: int,
) -> onnx.ModelProto:
    """A model that takes arrays like `feeds`."""
    graph = helper.make_graph(
        nodes,
        "drawn",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in feeds.items()
        ],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def matrix(sketch: Sketch) -> str:
    """A product with a weight that may be shared with another one, and its bias too."""
    dice, source = sketch.dice, sketch.pick(2)
    rows, size = sketch.shapes[source]
    constants = {n: w for n, w in sketch.weights.items() if n not in sketch.masks}
    fitting = [n for n, w in constants.items() if w.shape == (size, size) and w.dtype == np.float32]
    if fitting and dice.chance(0.4):
        weight, width = dice.pick(fitting), size
    else:
        width = size if dice.chance(0.5) else dice.integer(2, 8)
        values = sketch.normal(size, width) / np.float32(np.sqrt(size))
        if dice.chance(0.1):
            values[:, 0] = 0
        weight = sketch.hold(values, "weight")
    if dice.chance(0.5):
        return sketch.add("MatMul", [source, weight], (rows, width))
    inputs = [source, weight]
    biases = [n for n, w in constants.items() if w.shape == (width,) and w.dtype == np.float32]
    if dice.chance(0.7):
        is_shared = biases and dice.chance(0.5)
        inputs.append(dice.pick(biases) if is_shared else sketch.hold(sketch.normal(width)))
    attributes: dict[str, Any] = {}
    if size == width and dice.chance(0.3):
        attributes["transB"] = 1
    if dice.chance(0.2):
        attributes[dice.pick(["alpha", "beta"])] = 0.5
    return sketch.add("Gemm", inputs, (rows, width), **attributes)


def activation(sketch: Sketch) -> str:
    source = sketch.pick()
    op = sketch.dice.pick(["Relu", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Softplus", "Abs"])
    return sketch.add(op, [source], sketch.shapes[source])


def limits(sketch: Sketch) -> str:
    """A Clip, also one that excludes zero, or one that ends at the lowest float."""
    source = sketch.pick()
    pairs = [(0.0, 6.0), (-1.0, 1.0), (0.2, 0.9), (-2.0, -0.3), (LOWEST, 0.5), (0.0, -LOWEST)]
    low, high = (np.float32(value) for value in sketch.dice.pick(pairs))
    if sketch.opset < 11:
        bounds = {"min": float(low), "max": float(high)}
        return sketch.add("Clip", [source], sketch.shapes[source], **bounds)
    form = sketch.dice.pick(["weight", "constant"])
    inputs = [source, sketch.hold(low, form), sketch.hold(high, form)]
    return sketch.add("Clip", inputs, sketch.shapes[source])


def sum_of_two(sketch: Sketch) -> str:
    dice, source = sketch.dice, sketch.pick()
    shape = sketch.shapes[source]
    same = [n for n, s in sketch.shapes.items() if s == shape]
    other = dice.pick(same)
    if dice.chance(0.4):
        other = sketch.hold(sketch.normal(*dice.broadcast(shape)))
    return sketch.add(dice.pick(["Add", "Add", "Sub", "Mul"]), [source, other], shape)


def joined(sketch: Sketch) -> str:
    source = sketch.pick(2)
    rows, size = sketch.shapes[source]
    same = [n for n, s in sketch.shapes.items() if len(s) == 2 and s[0] == rows]
    other = sketch.dice.pick(same)
    width = size + sketch.shapes[other][1]
    if width > 24:
        return activation(sketch)
    return sketch.add("Concat", [source, other], (rows, width), axis=1)


def padded(sketch: Sketch) -> str:
    source, dice = sketch.pick(2), sketch.dice
    rows, size = sketch.shapes[source]
    value = dice.pick([0.0, 0.5, -1.0, -0.1])
    if sketch.opset < 11:
        return sketch.add("Pad", [source], (rows, size + 1), pads=[0, 0, 0, 1], value=value)
    amounts = sketch.hold(np.array([0, 0, 0, 1], np.int64), "weight")
    form = dice.pick(["weight", "constant"])
    inputs = [source, amounts, sketch.hold(np.float32(value), form)]
    return sketch.add("Pad", inputs, (rows, size + 1))


def masked(sketch: Sketch) -> str:
    """Shares of attention under a mask of the lowest number; one row is masked whole."""
    source, dice = sketch.pick(2), sketch.dice
    names_before = {*sketch.shapes}
    rows, size = sketch.shapes[source]
    lowest = np.float32(dice.pick([LOWEST, LOWEST, -1e9, -1e4, -np.inf]))
    mask = np.where(dice.rng.random((rows, size)) < 0.4, lowest, np.float32(0))
    mask[:, 0] = 0
    # Beside -10000 scores are rounded by half formats, which shows in a row masked whole.
    if np.isfinite(lowest) and lowest < -1e8:
        mask[0] = lowest
    form = dice.pick(["weight", "constant", "ConstantOfShape", "If"])
    if form == "ConstantOfShape" and sketch.opset >= 9:
        shape = sketch.hold(np.array([rows, size], np.int64), "weight")
        value = numpy_helper.from_array(np.array([lowest], np.float32))
        full = sketch.add("ConstantOfShape", [shape], (rows, size), value=value)
        where = sketch.hold(mask == 0, "weight")
        scores = sketch.add("Where", [where, source, full], (rows, size))
    elif form == "If":
        scores = sketch.add(
            "Add", [source, _choose_form(sketch, mask.astype(np.float32))], (rows, size)
        )
    else:
        mask_name = sketch.hold(
            mask.astype(np.float32), "weight" if form == "weight" else "constant"
        )
        sketch.masks.add(mask_name)
        scores = sketch.add("Add", [source, mask_name], (rows, size))
    # What a mask has lowered is for a Softmax alone: products of it overflow.
    for name in {*sketch.shapes} - names_before:
        del sketch.shapes[name]
    return sketch.add("Softmax", [scores], (rows, size), axis=1)


def _choose_form(sketch: Sketch, array: np.ndarray) -> str:
    """A constant that a branch of an If holds."""
    condition = sketch.hold(np.array(True), "weight")
    name = f"t{len(sketch.nodes)}"
    branches = []
    for label, value in (("then", array), ("else", np.zeros_like(array))):
        held = helper.make_node(
            "Constant", [], [f"{name}_{label}"], value=numpy_helper.from_array(value)
        )
        end = helper.make_tensor_value_info(f"{name}_{label}", FLOAT, array.shape)
        branches.append(helper.make_graph([held], f"{name}_{label}_graph", [], [end]))
    attributes = {"then_branch": branches[0], "else_branch": branches[1]}
    return sketch.add("If", [condition], array.shape, **attributes)


def branch(sketch: Sketch) -> str:
    """An If whose branches read a tensor of the outer graph."""
    source = sketch.pick()
    shape = sketch.shapes[source]
    condition = sketch.hold(np.array(sketch.dice.chance(0.5)), "weight")
    name = f"t{len(sketch.nodes)}"
    branches = []
    for label, op in (("then", "Abs"), ("else", "Neg")):
        end = helper.make_tensor_value_info(f"{name}_{label}", FLOAT, shape)
        node = helper.make_node(op, [source], [f"{name}_{label}"])
        branches.append(helper.make_graph([node], f"{name}_{label}_graph", [], [end]))
    attributes = {"then_branch": branches[0], "else_branch": branches[1]}
    return sketch.add("If", [condition], shape, **attributes)


def normalised(sketch: Sketch) -> str:
    source = sketch.pick(2)
    rows, size = sketch.shapes[source]
    return sketch.add("Softmax", [source], (rows, size), axis=1)


def turned(sketch: Sketch) -> str:
    source = sketch.pick(2)
    rows, size = sketch.shapes[source]
    if sketch.dice.chance(0.5):
        return sketch.add("Transpose", [source], (size, rows), perm=[1, 0])
    target = sketch.hold(np.array([size, rows], np.int64), "weight")
    return sketch.add("Reshape", [source, target], (size, rows))


def convolved(sketch: Sketch) -> str:
    """A convolution over channels, with weights and a bias that may be shared."""
    dice, source = sketch.dice, sketch.pick(4)
    n, channels, height, width = sketch.shapes[source]
    fitting = [n for n, w in sketch.weights.items() if w.shape == (channels, channels, 3, 3)]
    if fitting and dice.chance(0.4):
        weight = dice.pick(fitting)
    else:
        weight = sketch.hold(sketch.normal(channels, channels, 3, 3) / 5, "weight")
    inputs = [source, weight]
    biases = [n for n, w in sketch.weights.items() if w.shape == (channels,)]
    if dice.chance(0.7):
        is_shared = biases and dice.chance(0.5)
        inputs.append(dice.pick(biases) if is_shared else sketch.hold(sketch.normal(channels)))
    return sketch.add("Conv", inputs, (n, channels, height, width), pads=[1, 1, 1, 1])


def pooled(sketch: Sketch) -> str:
    source = sketch.pick(4)
    op = sketch.dice.pick(["MaxPool", "AveragePool"])
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    return sketch.add(op, [source], sketch.shapes[source], **attributes)


Step = Callable[[Sketch], str]
FLAT: tuple[Step, ...] = (
    *(matrix, matrix, matrix, activation, activation, limits, sum_of_two, sum_of_two, joined),
    *(padded, normalised, turned, branch),
)
IMAGES: tuple[Step, ...] = (
    *(convolved, convolved, convolved, activation, activation, limits, sum_of_two, pooled, branch),
)


def flat(dice: Dice) -> Draw:
    """Products of matrices and what lies between them."""
    sketch = Sketch(dice, dice.pick([9, 10, 11, 13, 17, 18, 20, 21, 23]))
    sketch.feed(dice.integer(2, 4), dice.integer(3, 8))
    if dice.chance(0.3):
        sketch.feed(*sketch.shapes["in0"])
    matrix(sketch)
    for _ in range(dice.integer(1, 7)):
        dice.pick(FLAT)(sketch)
    return sketch.done("flat")


def images(dice: Dice) -> Draw:
    """Convolutions and what lies between them."""
    sketch = Sketch(dice, dice.pick([10, 11, 13, 17, 18, 20, 21, 23]))
    sketch.feed(1, dice.integer(2, 4), 6, 6)
    convolved(sketch)
    for _ in range(dice.integer(1, 6)):
        dice.pick(IMAGES)(sketch)
    return sketch.done("images")


def attention(dice: Dice) -> Draw:
    """Shares under a mask between two products."""
    sketch = Sketch(dice, dice.pick([11, 13, 17, 20, 21, 23]))
    sketch.feed(dice.integer(2, 4), dice.integer(3, 8))
    matrix(sketch)
    masked(sketch)
    if dice.chance(0.6):
        matrix(sketch)
    return sketch.done("attention")


DRAWS: dict[str, Callable[[Dice], Draw]] = {"flat": flat, "images": images, "attention": attention}
