"""Models of public shapes: their time with what `graphlap run` draws, over that with the inputs
that their projects document."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime

from tests.benchmarks.tables import write_table
from tests.shapes.table import SHAPES, Arrays, Drawn, drawn, session

LEAST_S, LEAST_RUNS = 1.0, 20
TOLERANCE = 0.1
_FAR = 4
_HEADS = (
    "model and source",
    "sizes: assumed, documented",
    "values assumed",
    "ratio of times",
    "at documented sizes",
    "verdict",
)


def ratio(ort: onnxruntime.InferenceSession, one: Arrays, other: Arrays) -> float:
    """Time with the first inputs over that with the others: the median over pairs of runs, of
    which each is first in turn, so that the machine's speed cancels."""
    times: tuple[list[float], list[float]] = ([], [])
    begun, names = time.perf_counter(), [value.name for value in ort.get_outputs()]
    while len(times[0]) < LEAST_RUNS or time.perf_counter() - begun < LEAST_S:
        for place in (0, 1) if len(times[0]) % 2 else (1, 0):
            start = time.perf_counter()
            ort.run(names, dict((one, other)[place]))
            times[place].append(time.perf_counter() - start)
    return float(np.median(np.divide(*times)))


def _sizes(found: Drawn, documented: Mapping[str, int]) -> str:
    """`T 128, 67`: where assumed and documented sizes differ; those far apart are bold."""
    texts = []
    for axis, size in documented.items():
        assumed = found.sizes[axis]
        mark = "**" if max(size, assumed) > _FAR * min(size, assumed) else ""
        texts += [f"{mark}{axis} {assumed}, {size}{mark}"] if size != assumed else []
    return "; ".join(texts)


def public_shapes(most: int = len(SHAPES)) -> None:
    """A Markdown table, and how many are right."""
    rows = []
    for shape in SHAPES[:most]:
        with tempfile.TemporaryDirectory() as folder:
            found = drawn(shape, Path(folder))
            ort, given = session(found.path), found.inputs
            at_equal_sizes = ratio(ort, given, shape.fed(given))
            real = shape.fed(found.at(shape.sizes), documented=True)
            at_documented = ratio(ort, given, real)
        verdict = "right" if abs(at_equal_sizes - 1) <= TOLERANCE else "off"
        asked = f", asks for {', '.join(found.asked)}" if found.asked else ""
        rows.append((
            f"{shape.name}: {shape.source}",
            _sizes(found, shape.sizes),
            ", ".join(found.assumed),
            f"{at_equal_sizes:.2f}",
            f"{at_documented:.2g}",
            verdict + asked,
        ))  # fmt: skip
    write_table(_HEADS, rows)
    right = sum(row[-1].startswith("right") for row in rows)
    print(f"\n{right} of {len(rows)} within {TOLERANCE:.0%}")
