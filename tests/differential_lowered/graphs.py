"""Random graphs of several nodes: shared tensors and weights, inner graphs, ends of the ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.exporters.support import graph, tensor

LOWEST = float(np.finfo(np.float32).min)
Item = TypeVar("Item")


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

    def normal(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.standard_normal(shape), np.float32)


class Sketch:
    """A graph while it is drawn; all its tensors are float32 of known shapes."""

    def __init__(self, dice: Dice, opset: int) -> None:
        self.dice, self.opset = dice, opset
        self.nodes: list[onnx.NodeProto] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.feeds: dict[str, np.ndarray] = {}
        self._shared: dict[str, tuple[int, ...]] = {}

    def feed(self, *shape: int) -> None:
        name = f"in{len(self.feeds)}"
        self.feeds[name], self.shapes[name] = self.dice.normal(*shape), shape

    def hold(self, value: np.ndarray | np.generic, form: str = "") -> str:
        """A constant as an initialiser or as a Constant node."""
        name = f"c{len(self.weights) + len(self.nodes)}"
        if (form or self.dice.pick(["weight", "constant"])) == "weight":
            self.weights[name] = np.asarray(value)
        else:
            held = numpy_helper.from_array(np.asarray(value))
            self.nodes.append(helper.make_node("Constant", [], [name], value=held))
        return name

    def weight(self, *shape: int, scale: float = 1.0, form: str = "weight") -> str:
        """A weight of its own or, if there is one of this shape, perhaps another node's."""
        names = [name for name, other in self._shared.items() if other == shape]
        if names and self.dice.chance(0.4):
            return self.dice.pick(names)
        values = self.dice.normal(*shape) * np.float32(scale)
        if self.dice.chance(0.1):
            values[..., 0] = 0
        name = self.hold(values, form)
        self._shared[name] = shape
        return name

    def add(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        title = name if self.dice.chance(0.8) else ""
        self.nodes.append(helper.make_node(op, inputs, [name], title, **attributes))
        self.shapes[name] = shape
        return name

    def choice(self, then: onnx.NodeProto, other: onnx.NodeProto, shape: tuple[int, ...]) -> str:
        """An If with these nodes in its branches."""
        branches = [
            helper.make_graph([node], "branch", [], [tensor(node.output[0], shape)])
            for node in (then, other)
        ]
        condition = self.hold(np.array(self.dice.chance(0.5)), "weight")
        return self.add("If", [condition], shape, then_branch=branches[0], else_branch=branches[1])

    def pick(self, rank: int | None = None) -> str:
        """A tensor so far; one of the last three, or any."""
        names = [n for n, s in self.shapes.items() if rank is None or len(s) == rank]
        return self.dice.pick(names[-3:] if self.dice.chance(0.6) else names)

    def done(self, kind: str) -> Draw:
        """The graph with its last tensor and perhaps another one as outputs."""
        names = [name for node in self.nodes for name in node.output if name in self.shapes]
        chosen = names[-1:]
        others = [*names[:-1], *([*self.feeds] if self.dice.chance(0.1) else [])]
        if others and self.dice.chance(0.5):
            chosen.append(self.dice.pick(others))
        outputs = [tensor(name, self.shapes[name]) for name in chosen]
        inputs = [tensor(name, array.shape) for name, array in self.feeds.items()]
        proto = graph(self.nodes, inputs, outputs, self.weights, self.opset)
        return Draw(kind, proto, self.feeds, roundings=8)


def matrix(sketch: Sketch) -> str:
    """A product with a weight that may be shared with another one, and its bias too."""
    dice, source = sketch.dice, sketch.pick(2)
    rows, size = sketch.shapes[source]
    width = size if dice.chance(0.5) else dice.integer(2, 8)
    inputs = [source, sketch.weight(size, width, scale=size**-0.5)]
    if dice.chance(0.5):
        return sketch.add("MatMul", inputs, (rows, width))
    if dice.chance(0.7):
        inputs.append(sketch.weight(width, form=""))
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
    low, high = sketch.dice.pick(pairs)
    if sketch.opset < 11:
        return sketch.add("Clip", [source], sketch.shapes[source], min=low, max=high)
    bounds = [sketch.hold(np.float32(bound)) for bound in (low, high)]
    return sketch.add("Clip", [source, *bounds], sketch.shapes[source])


def sum_of_two(sketch: Sketch) -> str:
    dice, source = sketch.dice, sketch.pick()
    shape = sketch.shapes[source]
    other = dice.pick([name for name, s in sketch.shapes.items() if s == shape])
    if dice.chance(0.4):
        sizes = [1 if dice.chance(0.3) else size for size in shape]
        other = sketch.hold(dice.normal(*sizes[dice.integer(0, len(sizes)) :]))
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
    source, value = sketch.pick(2), sketch.dice.pick([0.0, 0.5, -1.0, -0.1])
    rows, size = sketch.shapes[source]
    if sketch.opset < 11:
        return sketch.add("Pad", [source], (rows, size + 1), pads=[0, 0, 0, 1], value=value)
    inputs = [source, sketch.hold(np.array([0, 0, 0, 1]), "weight"), sketch.hold(np.float32(value))]
    return sketch.add("Pad", inputs, (rows, size + 1))


def masked(sketch: Sketch) -> str:
    """Shares of attention under a mask of the lowest number; one row is masked whole."""
    source, dice = sketch.pick(2), sketch.dice
    shape = rows, size = sketch.shapes[source]
    lowest = np.float32(dice.pick([LOWEST, LOWEST, -1e9, -1e4, -np.inf]))
    mask = np.where(dice.rng.random(shape) < 0.4, lowest, np.float32(0))
    mask[:, 0] = 0
    # Beside -10000 scores are rounded by half formats, which shows in a row masked whole.
    if np.isfinite(lowest) and lowest < -1e8:
        mask[0] = lowest
    shapes_before = dict(sketch.shapes)
    form = dice.pick(["weight", "constant", "ConstantOfShape", "If"])
    if form == "ConstantOfShape":
        value = numpy_helper.from_array(np.array([lowest], np.float32))
        sizes = sketch.hold(np.array([rows, size]), "weight")
        full = sketch.add(form, [sizes], shape, value=value)
        scores = sketch.add("Where", [sketch.hold(mask == 0, "weight"), source, full], shape)
    elif form == "If":
        then, other = (
            helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))
            for name, array in (("mask", mask), ("none", np.zeros_like(mask)))
        )
        scores = sketch.add("Add", [source, sketch.choice(then, other, shape)], shape)
    else:
        scores = sketch.add("Add", [source, sketch.hold(mask, form)], shape)
    # What a mask has lowered is for a Softmax alone: products of it overflow.
    sketch.shapes = shapes_before
    return sketch.add("Softmax", [scores], shape, axis=1)


def branch(sketch: Sketch) -> str:
    """An If whose branches read a tensor of the outer graph."""
    source, name = sketch.pick(), f"t{len(sketch.nodes)}"
    then, other = (helper.make_node(op, [source], [f"{name}_{op}"]) for op in ("Abs", "Neg"))
    return sketch.choice(then, other, sketch.shapes[source])


def normalised(sketch: Sketch) -> str:
    source = sketch.pick(2)
    return sketch.add("Softmax", [source], sketch.shapes[source], axis=1)


def turned(sketch: Sketch) -> str:
    source = sketch.pick(2)
    rows, size = sketch.shapes[source]
    if sketch.dice.chance(0.5):
        return sketch.add("Transpose", [source], (size, rows), perm=[1, 0])
    target = sketch.hold(np.array([size, rows]), "weight")
    return sketch.add("Reshape", [source, target], (size, rows))


def convolved(sketch: Sketch) -> str:
    """A convolution over channels, with weights and a bias that may be shared."""
    source = sketch.pick(4)
    channels = sketch.shapes[source][1]
    inputs = [source, sketch.weight(channels, channels, 3, 3, scale=0.2)]
    if sketch.dice.chance(0.7):
        inputs.append(sketch.weight(channels, form=""))
    return sketch.add("Conv", inputs, sketch.shapes[source], pads=[1, 1, 1, 1])


def pooled(sketch: Sketch) -> str:
    source = sketch.pick(4)
    op = sketch.dice.pick(["MaxPool", "AveragePool"])
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    return sketch.add(op, [source], sketch.shapes[source], **window)


BETWEEN = (activation, activation, limits, sum_of_two, sum_of_two, branch)
FLAT = (matrix, matrix, matrix, *BETWEEN, joined, padded, normalised, turned)
IMAGES = (convolved, convolved, convolved, *BETWEEN, pooled)


def flat(dice: Dice) -> Draw:
    """Products of matrices and what lies between them."""
    sketch = Sketch(dice, dice.pick([9, 10, 11, 13, 17, 18, 20, 21, 23]))
    shape = dice.integer(2, 4), dice.integer(3, 8)
    for _ in range(dice.integer(1, 2)):
        sketch.feed(*shape)
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
