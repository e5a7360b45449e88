"""Inputs and outputs that are no single array of numbers, as plain arrays: texts, sequences, maps.

A sequence `x` becomes `x.length` and the arrays of its entries, `x[0]`, `x[1]`; a map becomes
`x.keys` and `x.values`, sorted by key; a sequence of maps has `x.lengths` beside the two, its maps
one after the other. So stored references, comparisons and digests need arrays alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from exporters.narrow_types import widen
from exporters.types import TEXT, ExportedModel, TensorSpec

Arrays = Mapping[str, np.ndarray]


def is_plain(spec: TensorSpec) -> bool:
    """Whether an input or output is one array of numbers of a type of numpy."""
    try:
        return not (spec.owner or spec.element) and np.dtype(spec.dtype).kind in "fiubc"
    except TypeError:
        return False


def has_only_arrays(model: ExportedModel) -> bool:
    """Whether all inputs and outputs of a model are arrays of numbers, which can be bound."""
    return all(map(is_plain, (*model.inputs, *model.outputs)))


def arrays_of(name: str, value: object) -> dict[str, np.ndarray]:
    """The plain arrays of an output as an engine returns it."""
    if value is None:  # an optional value that is absent
        return {name: np.empty(0)}
    if isinstance(value, dict):
        keys = sorted(value)
        return {
            f"{name}.keys": _array(keys),
            f"{name}.values": _array([value[key] for key in keys]),
        }
    if not isinstance(value, list):
        return {name: _array(value)}
    if value and all(isinstance(entry, dict) for entry in value):
        return _arrays_of_maps(name, value)
    arrays = {f"{name}.length": np.array(len(value))}
    for place, entry in enumerate(value):
        arrays |= arrays_of(f"{name}[{place}]", entry)
    return arrays


def values_of(specs: Iterable[TensorSpec], arrays: Arrays) -> dict[str, object]:
    """What an engine is given for each input of a graph, from the arrays by the names of `specs`.

    Arrays without a spec are passed on as they are.
    """
    owners = {spec.name: spec.owner for spec in specs if spec.owner}
    values: dict[str, object] = {n: array for n, array in arrays.items() if n not in owners}
    for name, owner in owners.items():
        if name == f"{owner}.keys":
            contents = arrays[f"{owner}.values"].tolist()
            values[owner] = dict(zip(arrays[name].tolist(), contents, strict=True))
        elif name != f"{owner}.values":
            entries = values.setdefault(owner, [])
            assert isinstance(entries, list)
            entries.append(arrays[name])
    return values


def _arrays_of_maps(name: str, maps: list[dict[object, object]]) -> dict[str, np.ndarray]:
    parts = [arrays_of("", entry) for entry in maps]
    return {
        f"{name}.lengths": np.array([len(entry) for entry in maps]),
        f"{name}.keys": np.concatenate([part[".keys"] for part in parts]),
        f"{name}.values": np.concatenate([part[".values"] for part in parts]),
    }


def _array(value: object) -> np.ndarray:
    """As numbers, or as texts of one width, which need no pickle in a file."""
    array = widen(np.asarray(value))
    return array.astype(TEXT) if array.dtype.kind in "OSU" else array
