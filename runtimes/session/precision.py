"""Precision that a row states, from the kernels that an engine executed, and the processor's name
and arithmetic.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import Precision
from runtimes.errors import Unsupported
from runtimes.execution import NodePlacement

CPU_INFO = Path("/proc/cpuinfo")
_BF16_FEATURES = frozenset({"amx_bf16", "avx512_bf16", "bf16"})
"""The kernel's words for them: two of x86-64, one of Arm."""
_VNNI_FEATURES = frozenset({"avx512_vnni", "avx_vnni"})


@cache
def cpu_name() -> str:
    """The first `model name` of /proc/cpuinfo, or what the platform module knows."""
    return next(cpuinfo_values("model name"), platform.processor() or platform.machine())


def usable_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def multiplies_bf16() -> bool:
    """Whether it says that it has instructions for products in bfloat16."""
    words = (*cpuinfo_values("flags"), *cpuinfo_values("Features"))
    return any(_BF16_FEATURES & {*line.split()} for line in words)


@cache
def saturates_int8() -> bool:
    """Whether it is an x86-64 that multiplies bytes without VNNI, as Zen 2 and 3: two products of
    an unsigned and a signed byte are then added in 16 bits."""
    flags = {flag for line in cpuinfo_values("flags") for flag in line.split()}
    return "lm" in flags and not _VNNI_FEATURES & flags


def cpuinfo_values(wanted: str) -> Iterator[str]:
    """What /proc/cpuinfo says so of each core; nothing where there is no such file."""
    try:
        lines = CPU_INFO.read_text("utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == wanted:
            yield value.strip()


INTEGER, UNKNOWN = "integer", "unknown"
"""A graph that computes no float at all, and one whose types the engine did not tell."""

_SHOWN_NODES = 5
_NARROW = ("fp8", "int8", "fp16", "bf16")
NARROWEST_FIRST = ("fp4", "int4", "fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64")

_MATRIX_OP = re.compile(r"Conv(?!ert)|Gemm|MatMul|FullyConnected|LSTM|GRU|RNN|Attention")
_CONVERSION = re.compile(r"Cast|Convert|Reorder|Quantize|Input|Output|Const")


def is_matrix_op(op: str) -> bool:
    """Whether an operator, by its ONNX or engine name, multiplies matrices."""
    return _MATRIX_OP.search(op) is not None


def together(precisions: Iterable[str]) -> str:
    """Several as one text, each once and the narrowest first: `int8+fp16`."""
    return "+".join(sorted(set(precisions), key=NARROWEST_FIRST.index))


def refuse_wider(precision: Precision, actual: str, engine: str) -> None:
    """Unsupported where a narrow type was asked for and the engine computes in a wider one."""
    narrowest = actual.partition("+")[0]
    if precision not in _NARROW or narrowest not in NARROWEST_FIRST:
        return
    if NARROWEST_FIRST.index(narrowest) > NARROWEST_FIRST.index(precision):
        raise Unsupported(
            f"{engine} computes the matrix operators of this {precision} graph in {actual}",
            f"measure it in {actual}, or in {precision} on another runtime",
        )


def of_graph(placement: Iterable[NodePlacement]) -> tuple[str, tuple[Diagnostic, ...]]:
    """The precision of the matrix kernels, or of all where there are none, and warnings.

    Where they differ it is the narrowest, and a warning names the nodes in a wider one.
    """
    float_nodes = [node for node in placement if node.precision != INTEGER]
    deciding = [node for node in float_nodes if is_matrix_op(node.op)]
    deciding = (
        deciding or [node for node in float_nodes if not _CONVERSION.search(node.op)] or float_nodes
    )
    if not deciding:
        return INTEGER, ()
    precision = min((node.precision for node in deciding), key=NARROWEST_FIRST.index)
    wider = [node for node in deciding if node.precision != precision]
    if not wider:
        return precision, ()
    names = [f"{node.op} {node.node!r} in {node.precision}" for node in wider]
    return precision, (mixed_precision(precision, names),)


def mixed_precision(precision: str, wider: Sequence[str]) -> Diagnostic:
    """That these nodes, each named with its type, are wider than the narrowest precision."""
    shown_nodes = tuple(wider[:_SHOWN_NODES])
    return diagnostic("mixed_precision", precision=precision, wider=len(wider), nodes=shown_nodes)
