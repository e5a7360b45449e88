"""Quantised files: by ONNX Runtime's quantisers, and as NNCF and torch write them."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper

from tests.files.kinds import (
    FLOAT,
    MICROSOFT,
    Kind,
    constant,
    convolutions,
    dense,
    draw,
    model,
    node,
    normalised,
    one,
    recurrent,
    saved,
    value,
    written,
)


class _Samples:
    def __init__(self, name: str, shape: Sequence[int]) -> None:
        self._left: Iterator[dict[str, np.ndarray]] = iter(
            [{name: draw(*shape, seed=seed)} for seed in range(4)]
        )

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._left, None)


def static(folder: Path, name: str, form: str, **options: Any) -> Path:
    """The convolutions, quantised with samples, in the form QDQ or QOperator."""
    from onnxruntime.quantization import QuantFormat, quantize_static

    source, path = saved(convolutions(), folder, "float"), folder / f"{name}.onnx"
    samples: Any = _Samples("x", (1, 3, 16, 16))
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_static(source, path, samples, quant_format=QuantFormat[form], **options)
    return path


def _dynamic(folder: Path, name: str) -> Path:
    from onnxruntime.quantization import quantize_dynamic

    source, path = saved(dense(), folder, "float"), folder / f"{name}.onnx"
    quantize_dynamic(source, path)
    return path


def _by_blocks(folder: Path, name: str, bits: int, form: str) -> Path:
    from onnxruntime.quantization import QuantFormat
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        DefaultWeightOnlyQuantConfig,
        MatMulNBitsQuantizer,
    )

    config = DefaultWeightOnlyQuantConfig(
        block_size=32, is_symmetric=False, bits=bits, quant_format=QuantFormat[form]
    )
    opset = 21 if form == "QDQ" else 17
    maker = MatMulNBitsQuantizer(dense(opset, 10), algo_config=config)
    maker.process()
    path = folder / f"{name}.onnx"
    maker.model.save_model_to_file(str(path))
    return path


def _channels_of_nncf() -> ModelProto:
    """Float weights behind quantisers in the graph, signed and with a scale for each channel, and
    one pair of quantisers for data: the layout of the ONNX backend of NNCF 2.14.1, read from a
    file that it wrote of `convolutions`."""
    text = """(float[1,3,12,12] x) => (float[1,8,10,10] y) {
        q = QuantizeLinear(x, xs, xz)
        d = DequantizeLinear(q, xs, xz)
        wq = QuantizeLinear <axis = 0> (w, ws, wz)
        wd = DequantizeLinear <axis = 0> (wq, ws, wz)
        c = Conv <kernel_shape = [3, 3]> (d, wd, b)
        y = Relu(c)
    }"""
    scales = {"xs": np.array(0.03, np.float32), "xz": np.array(128, np.uint8)}
    weights = {"w": draw(8, 3, 3, 3, scale=0.2), "ws": np.full(8, 0.01, np.float32)}
    return written(text, 13, **scales, **weights, wz=np.zeros(8, np.int8), b=draw(8, seed=2))


def _tensors_of_torch() -> ModelProto:
    """Scales as Constant nodes and int8 behind them, as torch's quantised export writes them."""
    text = """(float[batch,32] x) => (float[batch,16] y) {
        s = Constant <value = float scale {0.02}> () z = Constant <value = int8 zero {3}> ()
        q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)
        w = DequantizeLinear <axis = 1> (wq, ws, wz) m = MatMul(d, w)
        r = QuantizeLinear(m, ms, z) y = DequantizeLinear(r, ms, z)
    }"""
    weights = np.random.default_rng(0).integers(-127, 128, (32, 16)).astype(np.int8)
    scales = {"ws": np.full(16, 0.01, np.float32), "ms": np.array(0.4, np.float32)}
    return written(text, 17, wq=weights, wz=np.zeros(16, np.int8), **scales)


def _operators() -> ModelProto:
    """Quantised operators alone, integers at both ends."""
    text = """(uint8[4,16] x) => (int32[4,8] y) {
        a = QLinearMatMul(x, s, z, w, s, wz, t, z)
        y = MatMulInteger(a, v, z)
    }"""
    rng = np.random.default_rng(0)
    constants = {
        "s": np.array(0.05, np.float32),
        "t": np.array(0.5, np.float32),
        "z": np.array(128, np.uint8),
        "w": rng.integers(-127, 128, (16, 16)).astype(np.int8),
        "wz": np.array(0, np.int8),
        "v": rng.integers(-127, 128, (16, 8)).astype(np.int8),
    }
    return written(text, 13, **constants)


def _narrow(element: int, stored_type: str, opset: int = 21) -> ModelProto:
    """Weights of a type that numpy lacks, widened by the graph before they are used."""
    values = [((7 * i) % 15) - 7 for i in range(16 * 8)]
    if element in (TensorProto.UINT4, TensorProto.UINT8):
        values = [v + 7 for v in values]
    weights = helper.make_tensor("w", element, [16, 8], values)
    if stored_type == "Cast":
        widen = [node("Cast", ["w"], ["wide"], to=FLOAT)]
    else:
        widen = [node("DequantizeLinear", ["w", "scale"], ["wide"])]
    nodes = [*widen, node("MatMul", ["x", "wide"], ["y"])]
    constants = [weights, constant("scale", np.array(0.1, np.float32))]
    ends = [value("x", FLOAT, ["batch", 16])], [value("y", FLOAT, ["batch", 8])]
    return model(nodes, *ends, constants if stored_type != "Cast" else [weights], opset, 10)


def _signed_sixteen() -> ModelProto:
    """16-bit data by the operators of Microsoft's domain, as quantisers below opset 21 write it."""
    text = """(float[batch,16] x) => (float[batch,8] y) {
        q = com.microsoft.QuantizeLinear(x, s, z)
        d = com.microsoft.DequantizeLinear(q, s, z)
        y = MatMul(d, w)
    }"""
    scale, zero = np.array(2e-4, np.float32), np.array(0, np.int16)
    return written(text, 17, 8, [(MICROSOFT, 1)], s=scale, z=zero, w=draw(16, 8))


_STATIC: dict[str, dict[str, Any]] = {
    "qdq": {"form": "QDQ"},
    "qdq-by-channel": {"form": "QDQ", "per_channel": True},
    "qoperator": {"form": "QOperator"},
}
_NARROW = {
    "weights-bfloat16": (TensorProto.BFLOAT16, "Cast"),
    "weights-float16": (TensorProto.FLOAT16, "Cast"),
    "weights-float8-e4m3": (TensorProto.FLOAT8E4M3FN, "Cast"),
    "weights-float8-e5m2": (TensorProto.FLOAT8E5M2, "Cast"),
    "weights-float8-qdq": (TensorProto.FLOAT8E4M3FN, "Q"),
    "weights-int4": (TensorProto.INT4, "Q"),
    "weights-uint4": (TensorProto.UINT4, "Q"),
    "weights-int4-cast": (TensorProto.INT4, "Cast"),
}

KINDS = (
    *(
        Kind(
            "quantised",
            name,
            partial(lambda folder, name, o: static(folder, name, **o), name=name, o=o),
        )
        for name, o in _STATIC.items()
    ),
    Kind("quantised", "dynamic", lambda folder: _dynamic(folder, "dynamic")),
    *(
        Kind("quantised", name, partial(_by_blocks, name=name, bits=bits, form=form))
        for name, bits, form in (
            ("matmul-4-bits", 4, "QOperator"),
            ("matmul-8-bits", 8, "QOperator"),
            ("qdq-4-bits", 4, "QDQ"),
        )
    ),
    one("quantised", "nncf-channels", _channels_of_nncf),
    one("quantised", "torch-qdq", _tensors_of_torch),
    one("quantised", "integer-ends", _operators),
    one("quantised", "microsoft-16-bits", _signed_sixteen),
    *(one("narrow weights", name, partial(_narrow, *how)) for name, how in _NARROW.items()),
)


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


OPTIMISED = (
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
