"""Points of a model's axes: the sizes that it is measured at, each axis with one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from exporters.types import ExportError

Point = Mapping[str, int]
"""A size for each axis."""


def full_points(
    model: str,
    asked: Sequence[Point],
    axes: Sequence[str],
    default: Point,
    may_be_empty: Collection[str] = (),
) -> tuple[Point, ...]:
    """The points asked for, or the default one; ExportError unless each sets every axis.

    What a point leaves out has its default size, where the model has one. A size must be a
    whole number of at least 1, or of 0 for an axis of `may_be_empty`.
    """
    points = tuple({**default, **point} for point in asked) or (default,)
    known = ", ".join(axes) or "none"
    for point in points:
        for name in point:
            if name not in axes:
                raise ExportError(f"{model} has no axis {name!r}", f"its axes are: {known}")
        if missing := [name for name in axes if name not in point]:
            raise ExportError(
                f"no size is known for {', '.join(map(repr, missing))} of {model}",
                f"set the sizes, such as {' '.join(f'--axis {name}=1' for name in missing)}",
            )
        for name in axes:
            least = 0 if name in may_be_empty else 1
            if point[name] < least:
                raise ExportError(
                    f"the axis {name!r} of {model} cannot be {point[name]}",
                    f"the least is {least}",
                )
    return points
