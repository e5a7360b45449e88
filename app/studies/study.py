"""A study: a founding document, repeated. What each is beside its plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from app.present.document import Block
from app.studies.found import Found


def no_files(_: Found) -> Mapping[str, bytes]:
    """Of a study that has nothing beside its page."""
    return {}


@dataclass(frozen=True, slots=True)
class Study:
    """`title` heads the page, `repeats` is a sentence on what is repeated and how it is read.

    `tables` are the document's own, of what a run has so far: it says of each cell without a
    figure why it has none. `files` are written beside the page, contents by name. With `one_host`
    the page of a run of several machines is of one of them and has what all serve together; else
    machines are lines of its tables.
    """

    name: str
    title: str
    repeats: str
    tables: Callable[[Found], Iterable[Block]]
    files: Callable[[Found], Mapping[str, bytes]] = no_files
    one_host: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """A study of several plans: each part is a study of its own, called `NAME/PART`, whose run lies
    in the folder PART of the whole's.

    `shares` are what each part has of a budget, in their order; they need not add up to 1.
    """

    name: str
    title: str
    repeats: str
    parts: tuple[Study, ...]
    shares: tuple[float, ...]

    def folder_of(self, part: Study) -> str:
        return part.name.removeprefix(f"{self.name}/")
