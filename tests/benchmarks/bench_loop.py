"""Our timed loop beside a C loop on the wheel's own libonnxruntime, in interleaved triples.

The Python package holds its own build of ONNX Runtime, a few per cent apart from the
library beside it; the middle column is our loop on the very library that C calls.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from app.cases.round import Limits
from exporters.types import ExportedModel
from tests.benchmarks.pairs import PAIRS, interleaved, ratio_text
from tests.benchmarks.rounds import export, measure

SMALL, LARGE = ("lstm_tiny", "cnn_tiny", "mlp"), ("cnn_med", "lstm_med", "char_cnn")
"""Below and above 100 us a run on one core of a current server."""
AXES = {"batch": 1}
LIMITS = Limits(min_s=0.5, max_s=1.0, warmup_min_s=0.2, warmup_max_s=1.0)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program, library = _build(Path(folder))
        sys.stdout.write(
            "p50 in us, interleaved triples of three processes, one thread; median ratio to C "
            "with its 95 % interval\n"
        )
        for name in (str(one_node(Path(folder))), *SMALL):
            _compare(program, library, name, PAIRS or 9)
        for name in LARGE:
            _compare(program, library, name, PAIRS or 31)


def _compare(program: Path, library: Path, name: str, pairs: int) -> None:
    """Equal numbers of iterations on all sides: as many as ours takes in its time."""
    model = export(name, AXES)
    iterations = str(len(_ours(model)))
    arguments = _arguments(model, AXES, iterations)
    loop = [sys.executable, "-m", "tests.benchmarks.same_library", str(library)]
    c, same, ours = interleaved(
        pairs,
        lambda: _first_ns([str(program), *arguments]) / 1e3,
        lambda: _first_ns([*loop, *arguments]) / 1e3,
        lambda: float(np.median(_ours(model))) / 1e3,
    )
    sys.stdout.write(f"{model.name}: C {statistics.median(c):.2f}, {pairs} triples\n")
    for title, values in (("our loop on its library", same), ("graphlap", ours)):
        extra = statistics.median(a - b for a, b in zip(values, c, strict=True))
        sys.stdout.write(
            f"  {title:24} {statistics.median(values):9.2f} {extra:+7.2f}"
            f"  {ratio_text(values, c)}\n"
        )
    sys.stdout.flush()


def _ours(model: ExportedModel) -> np.ndarray:
    result, latency_ns = measure(model, AXES, limits=LIMITS)
    if result.status != "ok":
        raise RuntimeError(result.reason)
    return latency_ns


def _first_ns(command: list[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def _arguments(model: ExportedModel, axes: dict[str, int], iterations: str) -> list[str]:
    """What c_loop.c is told, the program's own name left out."""
    words = [str(_library()), model.path, "1", iterations]
    for name, size in axes.items():
        words += ["axis", name, str(size)]
    for kind, tensors in (("in", model.inputs), ("out", model.outputs)):
        for tensor in tensors:
            words += [kind, tensor.name, "x".join(map(str, tensor.shape_at(axes)))]
    inputs = [tensor.name for tensor in model.inputs]
    outputs = [tensor.name for tensor in model.outputs]
    for pair in model.states:
        words += ["state", str(outputs.index(pair.output)), str(inputs.index(pair.input))]
    return words


def _library() -> Path:
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    return next((Path(spec.origin).parent / "capi").glob("libonnxruntime.so*"))


def _build(folder: Path) -> tuple[Path, Path]:
    """The C loop as a program and as a library."""
    program, library = folder / "c_loop", folder / "c_loop.so"
    source = Path(__file__).with_name("c_loop.c")
    compiler = [os.environ.get("CC", "cc"), "-O2"]
    subprocess.run([*compiler, "-o", program, source, "-ldl"], check=True)
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return program, library


def one_node(folder: Path) -> Path:
    shape: tuple[str | int, ...] = ("batch", 128)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "one_node",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    path = folder / "one_node.onnx"
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


if __name__ == "__main__":
    main()
