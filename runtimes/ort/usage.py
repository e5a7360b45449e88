"""ONNX Runtime's CPU provider with given settings, as a program and as Triton's backend has it."""

from __future__ import annotations

from runtimes.options import SESSIONS
from runtimes.ort.opening import flag
from runtimes.usage import Usage, Used, triton_config

_LEVELS = {"all": "ALL", "extended": "EXTENDED", "basic": "BASIC", "off": "DISABLE_ALL"}
# What Triton's backend calls them; its own default is everything.
_TRITON_LEVELS = {"extended": 1, "basic": -1, "off": 2}


def usage(used: Used) -> Usage:
    """Of the CPU provider."""
    settings, options = used.settings, used.settings.options
    parallel = options["execution_mode"] == "parallel"
    level = str(options["graph_optimization"])
    name = _LEVELS[level]
    enabled = name if name == "DISABLE_ALL" else f"ENABLE_{name}"
    lines = [
        "import onnxruntime as ort",
        "",
        "options = ort.SessionOptions()",
        f"options.intra_op_num_threads = {settings.threads}",
        f"options.inter_op_num_threads = {settings.threads if parallel else 1}",
        f"options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_{enabled}",
        f"options.enable_mem_pattern = {bool(options['memory_pattern'])}",
        f"options.enable_cpu_mem_arena = {bool(options['memory_arena'])}",
    ]
    if parallel:
        lines.append("options.execution_mode = ort.ExecutionMode.ORT_PARALLEL")
    entries = {
        "session.intra_op.allow_spinning": flag(options["intra_op_spinning"]),
        "session.inter_op.allow_spinning": flag(options["inter_op_spinning"]),
        "session.set_denormal_as_zero": flag(options["flush_denormals"]),
    }
    lines += [f'options.add_session_config_entry("{k}", "{v}")' for k, v in entries.items()]
    lines += [
        f"options.add_free_dimension_override_by_name({axis!r}, {size})"
        for axis, size in used.model.axes.items()
    ]
    count = int(options[SESSIONS.name])
    opened = f"ort.InferenceSession({used.model.path!r}, options, ['CPUExecutionProvider'])"
    if count > 1:
        lines += [f"# {count} at once, each in a thread of its own", ""]
        lines.append(f"sessions = [{opened} for _ in range({count})]")
    else:
        lines.append(f"session = {opened}")
    parameters = {
        "intra_op_thread_count": str(settings.threads),
        "inter_op_thread_count": str(settings.threads if parallel else 1),
        "execution_mode": flag(parallel),
        "enable_mem_arena": flag(options["memory_arena"]),
        "enable_mem_pattern": flag(options["memory_pattern"]),
    }
    config = triton_config(used, "onnxruntime", parameters, entries, count)
    if level in _TRITON_LEVELS:
        config += f"optimization {{ graph {{ level: {_TRITON_LEVELS[level]} }} }}\n"
    return Usage("\n".join(lines) + "\n", config)
