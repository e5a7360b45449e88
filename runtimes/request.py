"""One case made ready for one runtime: every option typed, every axis and shape fixed.

`Runtime.request` makes it, after its checks; an adapter compiles from it and asks nothing again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exporters.types import ExportedModel, Reference, axes_key, load_reference
from runtimes.faults import Unsupported
from runtimes.options import OptionValue, Settings

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be compiled, and how.

    `options` has every option of the runtime, `shapes` every input of the model. The device
    in `settings` is the runtime's first where the case names none. `varied` are the axes that the
    session leaves open, as it serves several sizes of them.
    """

    model: ExportedModel
    axes: Mapping[str, int]
    settings: Settings
    options: Mapping[str, OptionValue]
    shapes: Mapping[str, Shape]
    varied: frozenset[str] = frozenset()

    @property
    def fixed_axes(self) -> Mapping[str, int]:
        """The axes that have one size in the session."""
        return {name: size for name, size in self.axes.items() if name not in self.varied}

    def open_shapes(self) -> dict[str, tuple[int | None, ...]]:
        """The shape of every input, None where it is not the same in all runs."""
        return {
            spec.name: tuple(
                None if named in self.varied else size
                for named, size in zip(spec.shape, self.shapes[spec.name], strict=True)
            )
            for spec in self.model.inputs
        }

    def reference(self) -> Reference:
        """The stored inputs and outputs at these axes; KeyError or OSError without any."""
        return load_reference(self.model.references[axes_key(self.axes)])


def batch_size(model: ExportedModel, axes: Mapping[str, int]) -> int:
    """How many inputs a run takes at `axes`; 1 where the model has no batch."""
    return axes[model.batch] if isinstance(model.batch, str) else model.batch or 1


def input_shapes(model: ExportedModel, axes: Mapping[str, int]) -> dict[str, Shape]:
    """The shape of every input at `axes`; Unsupported for an axis left open or unknown."""
    unknown = sorted(axes.keys() - model.axes.keys())
    if unknown:
        known = ", ".join(model.axes) or "none"
        raise Unsupported(f"{model.name} has no axis {unknown[0]!r}", f"its axes are: {known}")
    try:
        return {spec.name: spec.shape_at(axes) for spec in model.inputs}
    except KeyError as error:
        axis = error.args[0]
        raise Unsupported(
            f"the axis {axis!r} of {model.name} has no size", f"set it, as in {axis}=1"
        ) from None
