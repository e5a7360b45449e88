"""How a runtime that runs torch modules gets a null twin: its recipe as JSON values.

Needs no torch, which only the process that builds the module has.
"""

from __future__ import annotations

from exporters.null.recipe import Recipe
from exporters.types import Dimension, Factory

TARGET = "exporters.null.module:NullModule"


def null_factory(of: Recipe) -> Factory:
    """The factory of a recipe's module; inputs go by their place."""
    places = {spec.name: place for place, spec in enumerate(of.inputs)}

    def size(dimension: Dimension) -> int | list[int]:
        if isinstance(dimension, int):
            return dimension
        holder = next(spec for spec in of.inputs if dimension in spec.shape)
        return [places[holder.name], holder.shape.index(dimension)]

    parts = [
        {
            "reads": [places[name] for name in part.reads],
            "is_copy": part.is_copy,
            "cut": [
                place
                for name in part.reads[:1]
                for place, size in enumerate(of.inputs[places[name]].shape)
                if size not in part.along
            ],
            "view": part.view,
            "dtype": part.output.dtype,
            "shape": [size(dimension) for dimension in part.output.shape],
        }
        for part in of.parts
    ]
    return Factory(TARGET, {"parts": parts})
