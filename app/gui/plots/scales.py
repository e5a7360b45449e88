"""How numbers of any kind lie on an axis: as they are, or by their logarithm where that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.gui.plots.axes import LogAxis, SolidAxis, count_axis, time_axis

_WIDE = 8.0
"""Values that are so many times apart are easier to read on a logarithmic axis."""
_MOST_TICKS = 12


@dataclass(frozen=True, slots=True)
class Scale:
    """`place` gives where a number lies; `axis` makes the axis for a side of the plot."""

    place: Callable[[float], float]
    axis: Callable[[str], SolidAxis]


def scale_of(values: Sequence[float], column: str = "") -> Scale:
    """For these values of a column: times and rates are always logarithmic, what has a zero never.

    The axis of times prints their units.
    """
    logarithmic = min(values, default=0.0) > 0.0
    if logarithmic and column.endswith("_us"):
        return Scale(lambda value: math.log10(value * 1e-6), time_axis)
    if logarithmic and column.endswith("_per_s"):
        return Scale(math.log10, count_axis)
    if logarithmic and max(values) >= _WIDE * min(values):
        return Scale(math.log10, lambda side: LogAxis(side, lambda value: f"{value:.6g}"))
    return Scale(lambda value: value, SolidAxis)


def scale_at(values: Sequence[float], setting: str) -> Scale:
    """The same for what a sweep chose: where that is not much, each value has a tick, no other."""
    scale, chosen = scale_of(values, setting), sorted(set(values))
    if len(chosen) > _MOST_TICKS or setting.endswith(("_us", "_per_s")):
        return scale

    def axis(side: str) -> SolidAxis:
        made = scale.axis(side)
        made.setTicks([[(scale.place(value), f"{value:.6g}") for value in chosen]])
        made.setStyle(hideOverlappingLabels=True)
        return made

    return Scale(scale.place, axis)
