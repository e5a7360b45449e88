"""A real export process, and a small real .onnx file, for the exporters' tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from exporters.codec import from_json, to_json
from exporters.request import ExportReply, ExportRequest

ROOT = Path(__file__).parents[2]


class WorkerProcess:
    """A real export process; `ask` sends one request and waits for its reply."""

    def __init__(self, cache: Path, root: Path = ROOT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "exporters.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=root,
            env={**os.environ, "GRAPHLAP_CACHE": str(cache)},
        )

    def ask(self, request: ExportRequest) -> ExportReply:
        return self.say(json.dumps(to_json(request)))

    def say(self, line: str) -> ExportReply:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return from_json(ExportReply, json.loads(self.process.stdout.readline()))

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


def save_affine(path: Path, external: str = "", ir_version: int = 10) -> np.ndarray:
    """y = x @ w with x [batch, 64]; returns w. `external` names a file beside the model."""
    weights = np.random.default_rng(5).standard_normal((64, 32)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "affine",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 32])],
        [numpy_helper.from_array(weights, "w")],
    )
    if ir_version < 4:
        graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [64, 32]))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=ir_version
    )
    onnx.save(
        model,
        path,
        save_as_external_data=bool(external),
        location=external or None,
        size_threshold=0,
    )
    return weights
