"""The line that names the sizes of open axes which nobody gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def assumed_line(sizes_by_model: Mapping[str, Mapping[str, int]]) -> str:
    """`batch=1, sequence=128 in 3 of 5 models (assumed; set with --axis batch=N ...)`; "" for none.

    Only models with assumed sizes count.
    """
    counts = Counter(
        (axis, size) for sizes in sizes_by_model.values() for axis, size in sizes.items()
    )
    if not counts:
        return ""
    total = len(sizes_by_model)
    parts = [
        f"{axis}={size}" + (f" in {n} of {total} models" if n < total else "")
        for (axis, size), n in counts.items()
    ]
    flags = " ".join(dict.fromkeys(f"--axis {axis}=N" for axis, _ in counts))
    return f"sizes: {', '.join(parts)} (assumed; set with {flags})"
