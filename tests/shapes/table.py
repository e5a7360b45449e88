"""All models of public shapes (`shapes.toml`), and what the product feeds them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from exporters.inputs import assumed_inputs, seeded_inputs
from exporters.messages import ExportRequest, OutlineRequest
from exporters.onnx_files.outline import outline
from exporters.types import ExportedModel, load_reference
from exporters.worker import export

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Shape:
    """A model with the interface of a public one, as its entry in `shapes.toml` has it."""

    name: str
    source: str
    build: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    documented: Mapping[str, Any] = field(default_factory=dict)

    def model(self) -> bytes:
        module, _, function = self.build.partition(".")
        built = getattr(import_module(f"{__package__}.{module}"), function)()
        return bytes(built.SerializeToString())

    def fed(self, inputs: Arrays, *, documented: bool = False) -> dict[str, np.ndarray]:
        """These inputs with the values that decide how much is computed; those that are sizes are
        left as they are drawn unless the `documented` ones are wanted."""
        rules = {**self.values, **(self.documented if documented else {})}
        return {
            name: next(
                (_filled(rules[key], array, inputs) for key in rules if fnmatch(name, key)), array
            )
            for name, array in inputs.items()
        }


def _filled(rule: Any, array: np.ndarray, inputs: Arrays) -> np.ndarray:
    """An array like this one, by a rule of `shapes.toml`."""
    rng, shape = np.random.default_rng(0), array.shape
    match rule:
        case {"size": name}:
            values: Any = inputs[name].shape[rule.get("axis", 1)]
        case {"uniform": [low, high]}:
            values = rng.uniform(low, high, shape)
        case {"integers": [low, high]}:
            values = rng.integers(low, high, shape)
        case {"below": name}:
            values = rng.integers(0, len(inputs[name]), shape)
        case {"positions": name}:
            values = inputs[name].shape[2] + np.arange(shape[1])
        case {"spaced": name}:
            values = np.arange(shape[1]) * inputs[name].shape[1] // shape[1]
        case _:
            values = rule
    # A text may be longer than those that were drawn.
    element = object if isinstance(values, str) else array.dtype
    return np.resize(np.array(values, element), shape)


SHAPES: Sequence[Shape] = tuple(
    Shape(**entry)
    for entry in tomllib.loads(Path(__file__).with_name("shapes.toml").read_text("utf-8"))["shape"]
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A file with the sizes and inputs that `graphlap run` chooses for it; `asked` are the axes
    that it asks for, which have the documented sizes here."""

    path: Path
    model: ExportedModel
    sizes: Mapping[str, int]
    asked: Sequence[str]

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        (file,) = self.model.references.values()
        return dict(load_reference(file).inputs)

    @property
    def assumed(self) -> Sequence[str]:
        return assumed_inputs(self.model.inputs)

    def at(self, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Inputs at other sizes."""
        return seeded_inputs(self.model.inputs, sizes, seed=0)


def drawn(shape: Shape, folder: Path) -> Drawn:
    """The model written into the folder, outlined and exported as a run does both."""
    path = folder / "model.onnx"
    path.write_bytes(shape.model())
    found = outline(OutlineRequest(str(path)))
    asked = [axis for axis in found.axes if axis not in found.assumed]
    sizes = {**found.assumed, **{axis: shape.sizes[axis] for axis in asked}}
    request = ExportRequest(str(path), points=(sizes,), cache_dir=str(folder / "cache"))
    return Drawn(path, export(request)[0], sizes, asked)


def session(path: Path) -> onnxruntime.InferenceSession:
    """One thread, as the comparison uses it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
