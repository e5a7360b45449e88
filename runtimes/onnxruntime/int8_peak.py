"""The process that measures the processor's int8 peak.

Its command is `python -m runtimes.onnxruntime.int8_peak THREADS`.

Products of unsigned by signed bytes with sums of 32 bits, by ONNX Runtime's MatMulInteger, whose
constant right side it packs beforehand as it does a model's weights. Without VNNI its fastest
kernels saturate sums of two products, so that others are asked for. The best run of the
best size counts: anything slower was disturbed, or had too little to do. One JSON line is the
answer.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from runtimes.onnxruntime.opening import WIDE_SUMS
from runtimes.session.precision import saturates_int8

_SIDES = (256, 512, 1024, 2048)
_SIDE_S = 0.5
_NODE = "MatMulInteger"


def measure(threads: int) -> dict[str, object]:
    """`macs_per_s`, and `how` in words; ValueError where the products are wrong."""
    best, side = max((_macs_per_s(side, threads), side) for side in _SIDES)
    how = (
        f"ONNX Runtime {ort.__version__}, threads {threads}: {_NODE} of {side} x {side}, uint8 by "
        "constant int8"
    )
    return {"macs_per_s": best, "how": how}


def _macs_per_s(side: int, threads: int) -> float:
    rng = np.random.default_rng(side)
    left = rng.integers(0, 256, (side, side), np.uint8)
    right = rng.integers(-128, 128, (side, side), np.int8)
    session = _session(right, threads)
    # Each run writes where the one before did, so that no memory is asked for in it.
    binding = session.io_binding()
    binding.bind_cpu_input("a", left)
    result = np.zeros((side, side), np.int32)
    binding.bind_output("y", "cpu", 0, np.int32, result.shape, result.ctypes.data)
    session.run_with_iobinding(binding)
    if not np.array_equal(result[0], left[0].astype(np.int32) @ right.astype(np.int32)):
        raise ValueError(f"{_NODE} of {side} x {side} is wrong")
    best_s, deadline = np.inf, time.perf_counter() + _SIDE_S
    while time.perf_counter() < deadline:
        start_time = time.perf_counter()
        session.run_with_iobinding(binding)
        best_s = min(best_s, time.perf_counter() - start_time)
    return side**3 / float(best_s)


def _session(right: np.ndarray, threads: int) -> ort.InferenceSession:
    shape = list(right.shape)
    graph = helper.make_graph(
        [helper.make_node(_NODE, ["a", "b"], ["y"])],
        "peak",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT32, shape)],
        [numpy_helper.from_array(right, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    if saturates_int8():
        options.add_session_config_entry(WIDE_SUMS, "1")
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]))) + "\n")
