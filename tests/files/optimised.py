"""Files that ONNX Runtime wrote itself, and files of every opset that it opens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import onnxruntime
from onnx import ModelProto

from tests.files.kinds import Kind, one, saved
from tests.files.networks import convolutions, dense, normalised, recurrent
from tests.files.quantised import static

_LEVELS = {"basic": 1, "extended": 2, "layout": 3, "all": 99}
_UNOPTIMISED_FILES: Mapping[str, Callable[[], ModelProto]] = {
    "dense": dense,
    "convolutions": convolutions,
    "normalised": normalised,
    "recurrent": recurrent,
}
OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24)


def _optimise(make: Callable[[], ModelProto], level: int, name: str, folder: Path) -> Path:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel(level)
    path = folder / f"{name}.onnx"
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(make().SerializeToString(), options, ["CPUExecutionProvider"])
    return path


def _flatbuffer(make: Callable[[Path], Path], style: str, name: str, folder: Path) -> Path:
    """The file in ONNX Runtime's own format, by the converter that comes with it."""
    source = make(folder)
    module = "onnxruntime.tools.convert_onnx_models_to_ort"
    command = [sys.executable, "-m", module, str(source), "--optimization_style", style]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    ending = ".ort" if style == "Fixed" else ".with_runtime_opt.ort"
    return source.with_suffix(ending).rename(folder / f"{name}.ort")


def _opset_model(opset: int) -> ModelProto:
    return convolutions(opset, ir=min(10, max(4, opset - 9)))


KINDS = (
    *(
        Kind(
            "optimised by ONNX Runtime",
            f"{name}-{level}",
            partial(_optimise, make, number, f"{name}-{level}"),
        )
        for name, make in _UNOPTIMISED_FILES.items()
        for level, number in _LEVELS.items()
    ),
    *(one("opsets", f"opset-{n}", partial(_opset_model, n)) for n in OPSETS),
    *(
        Kind("ONNX Runtime's format", name, partial(_flatbuffer, make, style, name))
        for name, make, style in (
            ("ort-dense", lambda folder: saved(dense(), folder, "dense"), "Fixed"),
            ("ort-recurrent", lambda folder: saved(recurrent(), folder, "rec"), "Fixed"),
            ("ort-convolutions", lambda folder: saved(convolutions(), folder, "conv"), "Runtime"),
            ("ort-quantised", lambda folder: static(folder, "quantised", "QDQ"), "Fixed"),
        )
    ),
)
