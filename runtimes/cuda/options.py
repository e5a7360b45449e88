"""Options of every GPU runtime, `GPU_OPTIONS`: TF32 and its environment variable, and the CUDA
release that a package was built for.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from pathlib import Path

from runtimes.options import Option, OptionValue
from runtimes.session.precision import together


def built_for(path: Path, name: str) -> int | None:
    """The major CUDA release that the module at `path` has under `name`; None if it has none.

    Read as text: importing an engine to ask it would load what may not load here.
    """
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None
    for node in tree.body:
        match node:
            case (
                ast.AnnAssign(
                    target=ast.Name(id=assigned_name), value=ast.Constant(value=str(release))
                )
                | ast.Assign(
                    targets=[ast.Name(id=assigned_name)], value=ast.Constant(value=str(release))
                )
            ) if assigned_name == name:
                major = release.partition(".")[0]
                return int(major) if major.isdecimal() else None
    return None


VARIABLE = "NVIDIA_TF32_OVERRIDE"
_when_loaded: list[str | None] = []


def environment(allowed: bool) -> dict[str, str | None]:
    """What a process's environment must say; the only value that means anything forbids."""
    return {VARIABLE: None if allowed else "0"}


def loading() -> None:
    """A library is about to be opened: what the environment says now is what it reads."""
    if not _when_loaded:
        _when_loaded.append(os.environ.get(VARIABLE))


def surely_forbidden() -> bool:
    """Whether every library that this process has opened was told so before."""
    loaded_values = _when_loaded or [os.environ.get(VARIABLE)]
    return loaded_values[0] == "0"


BOUNDARY = Option(
    "boundary",
    "host",
    "whether the copies to and from the GPU are within the timed call",
    ("host", "device"),
    tuned=False,
)
HOST_MEMORY = Option(
    "host_memory",
    "pinned",
    "what a run copies from and to at the host's boundary: memory that is locked, or any",
    ("pinned", "pageable"),
)
SYNC = Option(
    "sync",
    "spin",
    "how the host waits for the GPU: it keeps asking on its core, or sleeps until it is woken",
    ("spin", "block"),
)
CUDA_GRAPH = Option("cuda_graph", False, "replay the launches of a run as one recorded graph")
TF32 = Option("tf32", False, "fp32 products may round their operands to 10 bits of mantissa")
GPU_OPTIONS = (BOUNDARY, CUDA_GRAPH, HOST_MEMORY, SYNC, TF32)
BUILDER_LEVEL = Option(
    "builder_level", 3, "how long the builder looks for faster kernels", (0, 1, 2, 3, 4, 5)
)
"""Of TensorRT, by itself and behind ONNX Runtime."""

# The first GPUs with tensor cores for TF32.
_AMPERE = (8, 0)


def stated(precision: str, tf32: bool, compute_capability: tuple[int, int]) -> str:
    """What a row calls fp32 products that the GPU was allowed to round: `tf32`."""
    if not tf32 or compute_capability < _AMPERE:
        return precision
    parts = precision.split("+")
    return together("tf32" if p == "fp32" else p for p in parts) if "fp32" in parts else precision


def locks_host_memory(options: Mapping[str, OptionValue]) -> bool:
    """Whether a run's arrays on the host are page-locked.

    At the device's boundary they only stage, outside the clock: there they need not take memory
    that the system can't have back.
    """
    return options["boundary"] == "host" and options.get(HOST_MEMORY.name) == "pinned"
