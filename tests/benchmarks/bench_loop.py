"""Our loops beside a C program's on the wheel's own libonnxruntime.

First in one process, blocks of the C program's loop and of ours in C by turns on one session: what
the loop itself adds. Then whole processes, interleaved: the C program, our loop in C on
either build of ONNX Runtime, and Python's loop, as people deploy.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from app.cases.round import Limits
from exporters.codec import to_json
from exporters.types import ExportedModel
from runtimes.options import OptionValue
from tests.benchmarks.pairs import PAIRS, interleaved, ratio_text
from tests.benchmarks.rounds import export, sample

SEEDS = ("mlp", "lstm_tiny", "cnn_tiny", "cnn_med", "lstm_med", "char_cnn")
AXES = {"batch": 1}
LIMITS = Limits(min_s=0.5, max_s=1.0, warmup_min_s=0.2, warmup_max_s=1.0)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program, library = _build(Path(folder))
        models = [export(str(one_node(Path(folder))), AXES), *(export(n, AXES) for n in SEEDS)]
        _say("p50 in us on one thread; blocks by turns on one session; ratio of ours to C")
        for model in models:
            _by_turns(library, model, PAIRS or 31)
        _say("interleaved processes; ratio to the C program")
        for model in models:
            _processes(program, model, PAIRS or 9)


def _by_turns(library: Path, model: ExportedModel, blocks: int) -> None:
    command = [sys.executable, "-m", "tests.benchmarks.one_session", str(library), "library"]
    process = subprocess.run(
        [*command, str(blocks), str(_runs(model))],
        input=json.dumps(to_json(model)),
        capture_output=True,
        text=True,
        check=True,
    )
    their_values, our_values = (
        np.array([line.split() for line in process.stdout.splitlines()], float).T / 1e3
    )
    extra = statistics.median((our_values - their_values).tolist())
    _say(
        f"{model.name:12} C {statistics.median(their_values.tolist()):9.2f} {extra:+6.2f}  "
        f"{ratio_text(our_values.tolist(), their_values.tolist())}, {blocks} pairs"
    )


def _processes(program: Path, model: ExportedModel, rounds: int) -> None:
    arguments = _arguments(model, AXES, str(_runs(model)))
    ways: dict[str, dict[str, OptionValue]] = {
        "loop in C, library": {"call": "c", "build": "library"},
        "loop in C, module": {"call": "c", "build": "module"},
        "Python's loop, module": {"call": "python"},
    }
    c, *our_values = interleaved(
        rounds,
        lambda: _first_ns([str(program), *arguments]) / 1e3,
        *(partial(_ours_us, model, options) for options in ways.values()),
    )
    _say(f"{model.name}: C {statistics.median(c):.2f}, {rounds} rounds")
    for title, values in zip(ways, our_values, strict=True):
        extra = statistics.median(a - b for a, b in zip(values, c, strict=True))
        _say(
            f"  {title:22} {statistics.median(values):9.2f} {extra:+7.2f}  {ratio_text(values, c)}"
        )


def _ours_us(model: ExportedModel, options: Mapping[str, OptionValue]) -> float:
    result, records = sample(model, AXES, limits=LIMITS, options=options)
    if result.status != "ok":
        raise RuntimeError(result.reason)
    return float(np.median(records["finished_ns"] - records["started_ns"])) / 1e3


def _runs(model: ExportedModel) -> int:
    """As many as take about a fifth of a second, found by one round."""
    if model.name not in _RUNS:
        _RUNS[model.name] = max(20, int(0.2e6 / _ours_us(model, {})))
    return _RUNS[model.name]


_RUNS: dict[str, int] = {}


def _first_ns(command: list[str]) -> float:
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(process.stdout.split()[0])


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


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
