"""A draft of one random node: its types, inputs and attributes within one version of a schema.

A generator writes the newest form of an operator. The draft keeps what the version in use has: an
attribute that it lacks is dropped, an input that was an attribute becomes one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

IR_VERSION = 10
_NUMPY: dict[str, np.dtype] = {
    {"float32": "float", "float64": "double"}.get(name, name): np.dtype(name)
    for name in (
        *("float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
    )
}
_SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -0.0)


class Undrawable(Exception):
    """This operator has no such node in this opset."""


class Draft:
    """Random choices for one node; `model` makes the graph of them."""

    def __init__(self, operator: str, opset: int, rng: np.random.Generator) -> None:
        self.operator, self.opset, self.rng = operator, opset, rng
        try:
            self.schema = onnx.defs.get_schema(operator, opset)
        except onnx.defs.SchemaError:
            raise Undrawable(f"{operator} of opset {opset}") from None
        if self.schema.deprecated:
            raise Undrawable(f"{operator} is deprecated in opset {opset}")
        self.version = self.schema.since_version
        self.inputs: list[Any] = []
        self.attributes: dict[str, Any] = {}
        self.outputs = 1
        self._constants: set[int] = set()
        self._chosen_types: dict[str, np.dtype] = {}

    # Choices

    def chance(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """Between `low` and `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def integers(self, low: int, high: int, count: int) -> list[int]:
        return [self.integer(low, high) for _ in range(count)]

    def real(self, low: float, high: float) -> float:
        return float(np.float32(self.rng.uniform(low, high)))

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Different axes in any order, each counted from either end where the version has it."""
        count = self.integer(least, rank)
        places = self.rng.permutation(rank)[:count]
        return [int(p) - rank * (self.takes_negative and self.chance()) for p in places]

    @property
    def takes_negative(self) -> bool:
        """Axes count from the end since opset 11."""
        return self.version >= 11

    def shape(self, least: int = 0, most: int = 4, empty: float = 0.04, size: int = 5) -> list[int]:
        sizes = self.integers(1, size, self.integer(least, most))
        if sizes and self.chance(empty):
            sizes[self.integer(0, len(sizes) - 1)] = 0
        return sizes

    def broadcast(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to this one."""
        sizes = [1 if self.chance(0.25) else size for size in shape]
        return sizes[self.integer(0, len(sizes)) if self.chance(0.4) else 0 :]

    # Types and values

    def allowed(self, param: str) -> list[str]:
        """The names of the element types that a type parameter of this version takes."""
        for constraint in self.schema.type_constraints:
            if constraint.type_param_str == param:
                names = constraint.allowed_type_strs
                return [name[7:-1] for name in names if name.startswith("tensor(")]
        return []

    def dtype(self, param: str = "T", kinds: str = "fiub") -> np.dtype:
        """A type for this parameter, the same one each time; of numpy's kinds."""
        if param not in self._chosen_types:
            self._chosen_types[param] = self.dtype_of(self.allowed(param) or ["float"], kinds)
        return self._chosen_types[param]

    def dtype_of(self, names: Sequence[str], kinds: str = "fiub") -> np.dtype:
        """One of these types."""
        types = [_NUMPY[n] for n in names if n in _NUMPY and _NUMPY[n].kind in kinds]
        if not types:
            raise Undrawable(f"{self.operator} takes none of the types in use")
        common = np.dtype(np.float32)
        return common if common in types and self.chance(0.5) else self.pick(types)

    def values(
        self, shape: Sequence[int], dtype: Any, low: float = -3, high: float = 3, special: float = 0
    ) -> np.ndarray:
        """Random elements; with probability `special` a few of them infinite, NaN or zero."""
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return np.asarray(self.rng.random(tuple(shape)) < 0.5)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            low, high = max(int(np.floor(low)), limits.min), min(int(np.ceil(high)), limits.max)
            return self.rng.integers(low, high, tuple(shape), endpoint=True).astype(dtype)
        elements = np.asarray(self.rng.uniform(low, high, tuple(shape)))
        if elements.size and self.chance(special):
            places = self.rng.integers(0, elements.size, 2)
            elements.flat[places] = self.pick(_SPECIAL)
        return np.asarray(elements.astype(dtype))

    # Parts of the node

    def tensor(
        self,
        shape: Sequence[int],
        param: str = "T",
        low: float = -3,
        high: float = 3,
        *,
        kinds: str = "fiub",
        special: float = 0,
    ) -> np.ndarray:
        """Add an input of random elements."""
        values = self.values(shape, self.dtype(param, kinds), low, high, special)
        self.add(values)
        return values

    def add(self, value: Any, name: str = "", constant: float = 0.0) -> None:
        """Add an input, or the attribute of this name where the version has it.

        With probability `constant` it is part of the model. None leaves it out.
        """
        if name and name in self.schema.attributes:
            if value is not None:
                array = np.asarray(value)
                scalar = self.schema.attributes[name].type in (
                    onnx.defs.OpSchema.AttrType.INT,
                    onnx.defs.OpSchema.AttrType.FLOAT,
                )
                self.attributes[name] = array.reshape(-1)[0].item() if scalar else array.tolist()
            return
        if len(self.inputs) >= self.schema.max_input:
            return
        if value is not None and self.chance(constant):
            self._constants.add(len(self.inputs))
        whole = isinstance(value, np.generic)
        self.inputs.append(np.asarray(value) if whole else value)

    def set(self, **attributes: Any) -> None:
        """Set those attributes that the version has."""
        known_attributes = self.schema.attributes
        self.attributes |= {
            n: v for n, v in attributes.items() if n in known_attributes and v is not None
        }

    def maybe(self, probability: float = 0.5, **attributes: Any) -> None:
        """Set each with this probability."""
        self.set(**{n: v for n, v in attributes.items() if self.chance(probability)})

    def model(self) -> tuple[ModelProto, dict[str, Any]]:
        """The graph of the node, and the values of the graph's inputs."""
        while self.inputs and self.inputs[-1] is None:
            self.inputs.pop()
        names = [
            f"x{place}" if value is not None else "" for place, value in enumerate(self.inputs)
        ]
        outputs = [f"y{place}" for place in range(self.outputs)]
        node = helper.make_node(self.operator, names, outputs, "node", **self.attributes)
        feeds = {n: v for n, v in zip(names, self.inputs, strict=True) if n}
        constants = [names[place] for place in sorted(self._constants)]
        ends = [
            self._value_info(name, place)
            for place, name in enumerate(names)
            if name and name not in constants
        ]
        graph = helper.make_graph(
            [node],
            "one_node",
            ends,
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [numpy_helper.from_array(feeds.pop(name), name) for name in constants],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        _add_output_types(model)
        return model, feeds

    def _value_info(self, name: str, place: int) -> ValueInfoProto:
        value = np.asarray(self.inputs[place])
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        return helper.make_tensor_value_info(name, kind, value.shape)


def _add_output_types(model: ModelProto) -> None:
    """Declare the types of the outputs without their sizes, where ONNX's inference has them."""
    try:
        inferred_model = onnx.shape_inference.infer_shapes(model)
    except onnx.shape_inference.InferenceError:
        return
    for end, counterpart in zip(model.graph.output, inferred_model.graph.output, strict=True):
        if counterpart.HasField("type"):
            end.type.CopyFrom(counterpart.type)
            if end.type.HasField("tensor_type"):
                end.type.tensor_type.ClearField("shape")


Generator = Callable[[Draft], None]
GENERATORS: dict[str, Generator] = {}


def generator(*operators: str) -> Callable[[Generator], Generator]:
    """Register a function that drafts nodes of these operators."""

    def register(function: Generator) -> Generator:
        for operator in operators:
            assert operator not in GENERATORS, operator
            GENERATORS[operator] = function
        return function

    return register
