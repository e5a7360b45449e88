"""Reference inputs and outputs for each point of a model's axes, kept in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from exporters.cache import Store, key_of
from exporters.types import (
    ExportError,
    Reference,
    axes_key,
    repeat_reference,
    save_reference,
)

_LABEL = "reference"
LARGEST_COMPUTED = 8
"""Rows of the largest batch whose every row is computed by itself."""

Point = Mapping[str, int]


def full_points(
    model: str, asked: Sequence[Point], axes: Sequence[str], default: Point
) -> tuple[Point, ...]:
    """The points asked for, or the default one; ExportError unless each sets every axis.

    A size must be a whole number of at least 1.
    """
    points = tuple(asked) or (default,)
    known = ", ".join(axes) or "none"
    for point in points:
        for name in point:
            if name not in axes:
                raise ExportError(f"{model} has no axis {name!r}", f"its axes are: {known}")
        for name in axes:
            if name not in point:
                raise ExportError(f"the axis {name!r} of {model} has no size", f"set {name}=1")
            if point[name] < 1:
                raise ExportError(
                    f"the axis {name!r} of {model} cannot be {point[name]}", "the least is 1"
                )
    return points


def stored_references(
    store: Store,
    about: Mapping[str, object],
    points: Sequence[Point],
    compute: Callable[[Point], Reference],
    batch_positions: Mapping[str, int] | None = None,
) -> tuple[dict[str, str], bool]:
    """The file of each point by `axes_key`, and whether all of them were there already.

    `about` holds all else that the outputs depend on: the graph's sha256, the seed, who
    computes them and in which version. `batch_positions`, for graphs whose rows do not
    depend on each other, is where each array (`input:NAME`, `output:NAME`) has its batch:
    beyond `LARGEST_COMPUTED` rows those are repeated, so that neither the export process
    nor the store grows with the batch.
    """
    files = {}
    had_all = True
    for point in points:
        key = key_of(about=about, point=dict(point))
        entry = store.get(key)
        if entry is None:
            had_all = False
            with store.scratch() as folder:
                path = folder / "reference.npz"
                batch = point.get("batch", 1)
                if batch_positions and batch > LARGEST_COMPUTED:
                    small = folder / "small.npz"
                    save_reference(str(small), compute({**point, "batch": LARGEST_COMPUTED}))
                    repeat_reference(str(small), str(path), batch_positions, batch)
                else:
                    save_reference(str(path), compute(point))
                entry = store.put(key, {}, {_LABEL: path})
        files[axes_key(point)] = str(entry.files[_LABEL])
    return files, had_all
