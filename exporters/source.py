"""What a model is to its export, wherever it comes from: a torch module or a user's file.

`exporters.pyt` and `exporters.files` give a source each; the pipeline knows this one form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from exporters.cache import Store
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.evaluation import Evaluator
from exporters.points import Point
from exporters.types import Dimension, Factory, Reference, StatePair, TensorSpec


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a model before anything is exported.

    `name` is its row's, `called` what messages call it. `default` gives each of the `axes` a
    size, or is empty for a file, which has none of its own. `batch` and `sequence` are the
    axes (or the fixed sizes) that play those parts. With `independent_rows`, no row of a
    batch depends on another. `examples` are inputs that came with the model, by name.
    """

    name: str
    called: str
    inputs: tuple[TensorSpec, ...]
    axes: tuple[str, ...]
    default: Point
    batch: Dimension | None
    sequence: Dimension | None
    suite: str = ""
    family: str = ""
    states: tuple[StatePair, ...] = ()
    layers: int | None = None
    width: int | None = None
    independent_rows: bool = False
    examples: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """A model's float32 graph in the store, and what was counted; `stored`: it was there already.

    An output's dimension is a size, an axis, or a name of the file's own. `factory` builds
    the module that the graph was exported from, with the store's copy of its weights. `sources`
    are the files of a user's graph, by their place in its folder, with their sha256. `point`
    are the only sizes that it takes, None for a graph that takes all. `warnings` are what rows
    should say of it. `beside` are the files of the store that hold weights of the graph's.
    `written_inputs` are those that the torch module behind it writes to.
    """

    path: Path
    opset: int
    outputs: tuple[TensorSpec, ...]
    parameters: int | None
    parameters_with_buffers: int | None
    macs: int | None
    stored: bool
    factory: Factory | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    point: Point | None = None
    warnings: tuple[Diagnostic, ...] = ()
    beside: tuple[Path, ...] = ()
    written_inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packaged:
    """Inputs and outputs that came with a model; `refused` says why data there is not taken."""

    reference: Reference | None
    refused: str = ""


class Source(Protocol):
    """A model that can be exported: what it is, its graph, and who vouches for its outputs."""

    @property
    def subject(self) -> Subject:
        """What is known beforehand."""

    def graphs(self, store: Store, points: Sequence[Point]) -> tuple[Graph, ...]:
        """The checked graph, made where the store lacks it, or one for each of the points.

        Multiply-accumulates are at the default sizes, or at the first point without any.
        """

    def evaluator(self, graph: Graph) -> Evaluator:
        """Who computes the references."""

    def packaged(self, points: Sequence[Point]) -> Packaged:
        """Inputs and outputs that came with the model, if they fit at all the points."""
