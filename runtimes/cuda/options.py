"""The options that every GPU runtime has, and the name of what TF32 does to fp32."""

from __future__ import annotations

from runtimes.options import Option

BOUNDARY = Option(
    "boundary",
    "host",
    "whether the copies to and from the GPU are within the timed call",
    ("host", "device"),
    tuned=False,
)
CUDA_GRAPH = Option("cuda_graph", False, "replay the launches of a run as one recorded graph")
TF32 = Option("tf32", False, "fp32 products may round their operands to 10 bits of mantissa")

# The first GPUs with tensor cores for TF32.
_AMPERE = (8, 0)


def stated(precision: str, tf32: bool, compute_capability: tuple[int, int]) -> str:
    """What a row calls fp32 products that the GPU was allowed to round: `tf32`."""
    rounded = precision == "fp32" and tf32 and compute_capability >= _AMPERE
    return "tf32" if rounded else precision
