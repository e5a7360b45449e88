"""OpenVINO on the CPU with given settings, as a program and as Triton's backend has it."""

from __future__ import annotations

from collections.abc import Mapping

from runtimes.options import SESSIONS
from runtimes.usage import Usage, Used, triton_config

_TRITON = ("NUM_STREAMS", "INFERENCE_NUM_THREADS")
"""The properties that Triton's backend has parameters of the same name for. Of precisions it knows
bfloat16 alone; elsewhere the engine takes what is fast on the machine.
https://github.com/triton-inference-server/openvino_backend#parameters (2026-08-21)"""


def usage(used: Used, properties: Mapping[str, str]) -> Usage:
    """`properties` are what the engine itself is told."""
    options = used.settings.options
    count = int(options[SESSIONS.name])
    compiled = "core.compile_model(model, 'CPU', properties)"
    shapes = {
        spec.name: [used.model.axes.get(d, -1) if isinstance(d, str) else d for d in spec.shape]
        for spec in used.model.inputs
    }
    lines = [
        "import openvino as ov",
        "",
        "core = ov.Core()",
        f"model = core.read_model({used.model.path!r})",
        f"model.reshape({shapes!r})",
        f"properties = {dict(properties)!r}",
    ]
    if count > 1:
        lines += [f"# {count} at once, each in a thread of its own"]
        lines.append(f"compiled = [{compiled} for _ in range({count})]")
    else:
        lines.append(f"compiled = {compiled}")
        streams = int(options["streams"])
        lines.append(f"requests = [compiled.create_infer_request() for _ in range({streams})]")
    parameters = {name: value for name, value in properties.items() if name in _TRITON}
    untold = {name: value for name, value in properties.items() if name not in _TRITON}
    if untold["INFERENCE_PRECISION_HINT"] == "bf16":
        parameters["HINT_BF16"] = "YES"
        del untold["INFERENCE_PRECISION_HINT"]
    if used.model.axes:
        parameters["RESHAPE_IO_LAYERS"] = "YES"
    config = triton_config(used, "openvino", parameters, untold, count)
    return Usage("\n".join(lines) + "\n", config)
