"""Graphs for checks: one that every engine takes, one of a vendor's own, one of a rare operator."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper


def write_graphs(folder: Path) -> None:
    """`sound.onnx`, `vendor.onnx` with an operator that nobody has, and `det.onnx`, which the
    simulated card leaves to the CPU."""
    _write(folder / "sound.onnx", "Tanh", "", [2, 3, 3])
    _write(folder / "vendor.onnx", "Sharpen", "a.vendor", [2, 3, 3])
    _write(folder / "det.onnx", "Det", "", [2])


def _write(path: Path, op: str, domain: str, out: list[int]) -> None:
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["r"], name="first"),
            helper.make_node(op, ["r"], ["y"], name="second", domain=domain),
        ],
        path.stem,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
    )
    opsets = [helper.make_opsetid("", 20), *([helper.make_opsetid(domain, 1)] if domain else [])]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
