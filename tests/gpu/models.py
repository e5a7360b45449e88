"""The graphs that the checks on a GPU run, with their inputs and the work that a run does.

Imports no engine: a child for one runtime must find libraries as a user's process would, not those
that another engine loaded. The torch modules behind the graphs are in `modules.py`, by its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from app.contract.graphs import Graphs, constant, node, weights
from exporters.types import ExportedModel, Factory, Reference, TensorSpec, axes_key, load_reference

MODULES = Path(__file__).with_name("modules.py")
FLOAT_BYTES = 4
SMALL_WIDTH = 64


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the graphs are.

    The defaults are for a GPU: 1.7 TFLOP in a run of the chain take milliseconds on any, so that
    work that was not waited for is seen; 16 MiB each way through a link take far longer than
    computing on them; `large_rows` need 1 GiB for the input and 1 GiB for the output, of which
    `limit_bytes` are left free.
    """

    rows: int = 2048
    width: int = 4096
    layers: int = 24
    copied_rows: int = 64
    copied_width: int = 65536
    large_rows: int = 4096
    limit_bytes: int = 512 * 2**20


DEVICE_SIZES = Sizes()


@dataclass(frozen=True, slots=True)
class Model:
    """A graph at fixed axes, inputs for it, and what a run computes and moves.

    `outputs` are those expected of `inputs`, None where a CPU would take too long for them.
    """

    exported: ExportedModel
    axes: Mapping[str, int]
    inputs: Mapping[str, np.ndarray]
    flop: float
    moved_bytes: int
    outputs: Mapping[str, np.ndarray] | None = None


class Models:
    """The graphs, written to a folder when they are first used."""

    def __init__(self, folder: Path, sizes: Sizes = DEVICE_SIZES, modules: Path = MODULES) -> None:
        self._graphs, self._modules = Graphs(folder), modules
        self.sizes = sizes

    @cached_property
    def small(self) -> Model:
        """One product that takes microseconds, whose outputs are known and none of them zero:
        what is zero would agree with what was never computed."""
        x, w = weights(1, SMALL_WIDTH, seed=1), weights(SMALL_WIDTH, SMALL_WIDTH)
        specs = [TensorSpec(end, "float32", ("batch", SMALL_WIDTH)) for end in ("x", "y")]
        exported_model = self._graphs.save(
            "small",
            [node("MatMul", ["x", "w"], ["y"])],
            specs[:1],
            specs[1:],
            [constant("w", w)],
            axes={"batch": 1},
        )
        model = _with_module(exported_model, "small", self._modules)
        return Model(model, {"batch": 1}, {"x": x}, 0.0, 0, {"y": x @ w})

    @cached_property
    def chain(self) -> Model:
        """Large matrix products, one after another."""
        exported_model = chain_of_products(self._graphs, self.sizes, self._modules)
        x = load_reference(exported_model.references[axes_key({})]).inputs
        rows, width = self.sizes.rows, self.sizes.width
        flop = 2.0 * rows * width * width * self.sizes.layers
        return Model(exported_model, {}, x, flop, 2 * rows * width * FLOAT_BYTES)

    @cached_property
    def copied(self) -> Model:
        """Much to copy and next to nothing to compute."""
        return self._relu("copied", self.sizes.copied_rows)

    @cached_property
    def large(self) -> Model:
        """More than `limit_bytes` in and out."""
        return self._relu("large", self.sizes.large_rows)

    def chain_rows(self, count: int) -> np.ndarray:
        """The first rows of the chain's output in double precision."""
        w = chain_weights(self.sizes.width).astype(np.float64)
        rows = self.chain.inputs["x"][:count].astype(np.float64)
        for _ in range(self.sizes.layers):
            rows = rows @ w
        return np.asarray(rows)

    def _relu(self, name: str, rows: int) -> Model:
        width = self.sizes.copied_width
        specs = [TensorSpec(end, "float32", ("batch", width)) for end in ("x", "y")]
        exported_model = self._graphs.save(
            name, [node("Relu", ["x"], ["y"])], specs[:1], specs[1:], axes={"batch": rows}
        )
        x = np.zeros((rows, width), np.float32)
        moved_bytes = 2 * rows * width * FLOAT_BYTES
        return Model(
            _with_module(exported_model, "relu", self._modules),
            {"batch": rows},
            {"x": x},
            0.0,
            moved_bytes,
        )


def chain_weights(width: int) -> np.ndarray:
    """The matrix that the chain multiplies by, which leaves its input about as large as it is."""
    return np.asarray(weights(width, width) / width**0.5)


def chain_of_products(
    graphs: Graphs, sizes: Sizes = DEVICE_SIZES, modules: Path = MODULES
) -> ExportedModel:
    """The graph, with inputs and without expected outputs: those take a CPU too long."""
    names = ["x", *(f"h{index}" for index in range(1, sizes.layers)), "y"]
    specs = [TensorSpec(name, "float32", (sizes.rows, sizes.width)) for name in ("x", "y")]
    exported_model = graphs.save(
        "chain",
        [node("MatMul", [source, "w"], [target]) for source, target in pairwise(names)],
        specs[:1],
        specs[1:],
        [constant("w", chain_weights(sizes.width))],
        references=[({}, Reference({"x": weights(sizes.rows, sizes.width)}, {}))],
    )
    return _with_module(exported_model, "chain", modules)


def _with_module(exported_model: ExportedModel, function: str, modules: Path) -> ExportedModel:
    return replace(exported_model, factory=Factory(f"{modules}:{function}"))
