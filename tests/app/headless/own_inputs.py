"""A file whose runs take as long as its inputs say, and sets of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save_model

from tests.exporters.support import graph, tensor

TRIPS = {"quick": 1, "slow": 80, "middle": 12}
"""How often each set has the loop run."""
SIDE = 16


def save_loop(path: Path) -> None:
    """`n` times a product of two matrices."""
    shape = [SIDE, SIDE]
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["a", "w"], ["next"]),
            helper.make_node("Identity", ["go"], ["still"]),
        ],
        "body",
        [
            tensor("i", [], TensorProto.INT64),
            tensor("go", [], TensorProto.BOOL),
            tensor("a", shape),
        ],
        [tensor("still", [], TensorProto.BOOL), tensor("next", shape)],
    )
    constants = {"w": np.eye(SIDE, dtype=np.float32), "true": np.array(True)}
    loop = helper.make_node("Loop", ["n", "true", "x"], ["y"], body=body)
    takes = [tensor("n", [], TensorProto.INT64), tensor("x", shape)]
    save_model(graph([loop], takes, [tensor("y", shape)], constants), path)


def arrays_of(trips: int) -> dict[str, np.ndarray]:
    return {"n": np.array(trips), "x": np.ones((SIDE, SIDE), np.float32)}


def save_sets(folder: Path) -> None:
    for name, trips in TRIPS.items():
        np.savez(folder / f"{name}.npz", **arrays_of(trips))  # type: ignore[arg-type]
