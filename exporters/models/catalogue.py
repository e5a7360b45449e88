"""The catalogue: every definition that ships, found by name or alias, told without torch.

definitions.csv has a line for each. Its arguments are JSON values, or texts. `range` are the bounds
of the input `x`; an input after `x` is a state, whose output is called so too, with `_out` behind.

The 60 layers (15 rows of four) and 22 cells of NeurIO's block-based benchmark page: where the page
leaves a size open ours stands, channels first, inputs [3, 32], [3, 32, 32] and [3, 32, 32, 32],
kernel 3; of the cells it names the configurations, and what is inside each is our own definition,
drawn in `cells.py`. The page's batch norms of 1D to 4D count the axes beside the batch, the
channels among them. The 34 networks of the Gluon model zoo are also found under the name that
dlmark's CNN study gives them: the family, then its version or depth, joined by hyphens. A step of a
CNN or LSTM has the weights of its whole sequence. The text of `char_cnn` is one-hot in use; its
arithmetic is dense, so uniform data costs the same and exercises every weight.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from exporters.types import Definition, Factory, GraphlapError, StatePair, TensorSpec, nearest


def _definition(row: Mapping[str, str]) -> Definition:
    data, *states = map(_input, row["inputs"].split("; "))
    if row["range"]:
        low, high = map(float, row["range"].split())
        data = replace(data, low=low, high=high)
    pairs = tuple(StatePair(state.name, f"{state.name}_out") for state in states)
    arguments = (text.split("=", 1) for text in filter(None, row["arguments"].split("; ")))
    axes = (text.split("=") for text in row["axes"].split(","))
    return Definition(
        name=row["name"],
        suite=row["suite"],
        family=row["family"],
        source=row["source"],
        factory=Factory(
            f"exporters.models.{row['target']}", {name: _value(text) for name, text in arguments}
        ),
        inputs=(data, *states),
        outputs=("y", *(pair.output for pair in pairs)),
        axes={name: int(size) for name, size in axes},
        states=pairs,
        layers=int(row["layers"]) if row["layers"] else None,
        width=int(row["width"]) if row["width"] else None,
        aliases=tuple(filter(None, [row["alias"]])),
        labelled=row["labelled"],
        in_fp64=row["in_fp64"] == "yes",
    )


def _input(text: str) -> TensorSpec:
    """Of `x float32[batch,3,32]`."""
    name, dtype, sizes = text.replace("[", " ").removesuffix("]").split(" ")
    return TensorSpec(name, dtype, tuple(int(s) if s.isdecimal() else s for s in sizes.split(",")))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@cache
def _by_name() -> dict[str, Definition]:
    """Every name and alias once; a name given twice is a fault of the catalogue itself."""
    content = Path(__file__).with_name("definitions.csv").read_text("utf-8")
    definitions_by_name: dict[str, Definition] = {}
    for definition in map(_definition, csv.DictReader(content.splitlines())):
        for name in (definition.name, *definition.aliases):
            if name in definitions_by_name:
                raise GraphlapError(
                    f"the catalogue has two definitions called {name!r}", "rename one of them"
                )
            definitions_by_name[name] = definition
    return definitions_by_name


def names() -> tuple[str, ...]:
    """All names in catalogue order, without the aliases."""
    return tuple(name for name, definition in _by_name().items() if name == definition.name)


def by_suite() -> dict[str, tuple[Definition, ...]]:
    """The definitions of each suite, both in catalogue order."""
    suites: defaultdict[str, list[Definition]] = defaultdict(list)
    for name in names():
        definition = find(name)
        suites[definition.suite].append(definition)
    return {suite: tuple(definitions) for suite, definitions in suites.items()}


def find(name: str) -> Definition:
    """The definition with this name or alias; GraphlapError suggests the nearest one."""
    try:
        return _by_name()[name]
    except KeyError:
        remedy = nearest(name, _by_name(), "see graphlap models for all names")
        raise GraphlapError(f"there is no model called {name!r}", remedy) from None
