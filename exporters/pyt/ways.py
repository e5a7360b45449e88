"""The ways to export a user's module, the best first, and what a row says of any but the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.points import Point
from exporters.pyt.to_onnx import Exporter
from exporters.types import Definition, ExportError


@dataclass(frozen=True, slots=True)
class Way:
    """Which of torch's exporters, and whether the graph has its sizes `fixed`."""

    exporter: Exporter
    fixed: bool


WAYS = (Way("new", False), Way("new", True), Way("old", False), Way("old", True))


def at_point(definition: Definition, point: Point) -> Definition:
    """The definition with its sizes baked in, no axis left."""
    sizes = {**definition.axes, **point}
    inputs = tuple(replace(spec, shape=spec.shape_at(sizes)) for spec in definition.inputs)
    return replace(definition, inputs=inputs, axes={})


def told(way: Way, faults: Mapping[Way, ExportError]) -> tuple[Diagnostic, ...]:
    """What the rows should say of the way that worked, after those that did not."""
    warnings = []
    if way.fixed:
        warnings.append(diagnostic("sizes_fixed", error=faults[Way("new", False)].cause))
    if way.exporter == "old":
        warnings.append(diagnostic("old_exporter", error=faults[Way("new", way.fixed)].cause))
    return tuple(warnings)


def nearest(faults: Mapping[Way, ExportError]) -> ExportError:
    """Of a module that no way takes: what is in the way of the new exporter at one size."""
    return faults.get(Way("new", True)) or faults[Way("new", False)]
