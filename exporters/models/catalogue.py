"""The catalogue: every definition that ships, found by name or alias, told without torch."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from exporters.models.definitions import DEFINITIONS
from exporters.models.digits import DEFINITIONS as DIGITS
from exporters.types import Definition, GraphlapError, nearest


@cache
def _by_name() -> dict[str, Definition]:
    """Every name and alias once; a name given twice is a fault of the catalogue itself."""
    definitions_by_name: dict[str, Definition] = {}
    for definition in (*DEFINITIONS, *DIGITS):
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
