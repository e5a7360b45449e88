"""OpenVINO on the CPU with given settings, as a program and as Triton's backend has it."""

from __future__ import annotations

from collections.abc import Mapping

from runtimes.options import SESSIONS
from runtimes.usage import Usage, Used, triton_config


def usage(used: Used, properties: Mapping[str, str]) -> Usage:
    """`properties` are what the engine itself is told."""
    options, threads = used.settings.options, used.settings.threads
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
    parameters = {
        "CPU_THROUGHPUT_STREAMS": str(options["streams"]),
        "ENFORCE_BF16": "YES" if properties["INFERENCE_PRECISION_HINT"] == "bf16" else "NO",
        "CPU_BIND_THREAD": "YES" if options["cpu_pinning"] else "NO",
    }
    if threads:
        parameters["CPU_THREADS_NUM"] = str(threads)
    return Usage("\n".join(lines) + "\n", triton_config(used, "openvino", parameters, count))
