"""A step of an export: taken from the store where it was done before, else done and kept.

The key of what a step makes follows from the step itself: its sources are those of the module
that it is defined in, so that no list of them is kept by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVarTuple

from exporters.cache import Entry, Store, key_of
from exporters.codec import to_json
from exporters.digest import file_sha256
from exporters.made import Made
from exporters.versions import made_by

Ts = TypeVarTuple("Ts")


@dataclass(frozen=True, slots=True)
class Done:
    """What a step made, in the store, and whether it was there already."""

    entry: Entry
    stored: bool


def done(
    store: Store,
    step: Callable[[Path, *Ts], Made],
    *arguments: *Ts,
    about: Mapping[str, Any] | None,
    packages: tuple[str, ...],
    beside: tuple[str, ...] = (),
) -> Done:
    """The step's result for these arguments, made in a folder of the store if it is not kept.

    `about` are JSON values that stand for the arguments, `packages` those whose version can
    change the result, and `beside` our modules that the step reaches without importing them.
    Without `about` nothing is looked up: the result is stored by what came out, which later
    ones do not replace.
    """
    key = ""
    if about is not None:
        key = key_of(**about, versions=made_by(step.__module__, *beside, packages=packages))
        entry = store.get(key)
        if entry is not None:
            return Done(entry, stored=True)
    with store.scratch() as folder:
        made = step(folder, *arguments)
        facts = {} if made.facts is None else to_json(made.facts)
        if not key:
            key = key_of(**{label: file_sha256(file) for label, file in made.files.items()})
        return Done(store.put(key, facts, made.files), stored=False)
