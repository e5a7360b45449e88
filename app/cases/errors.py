"""What a plan or a run folder can get wrong, and the nearest right word for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from exporters.types import GraphlapError


class PlanError(GraphlapError):
    """The plan alone shows the fault: exit 2, nothing written."""


class ResultsError(GraphlapError):
    """A run folder that can't be read or used: exit 2 when a sweep was to write there."""


class FileError(ResultsError):
    """A file of a run folder that can't be used: its path, and what is wrong with it."""

    def __init__(self, path: Path, fault: str, remedy: str = "") -> None:
        super().__init__(f"{path} {fault}", remedy)
        self.fault = fault


class DiskError(ResultsError):
    """The run folder can no longer be written: exit 1, and what is recorded stays good."""


def suggestion(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """`did you mean 'x'?` for a near miss, else `otherwise`, or the first dozen known words."""
    words = list(known)
    near = get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    if otherwise:
        return otherwise
    listed = ", ".join(words[:12])
    more = f" and {len(words) - 12} more (graphlap models)" if len(words) > 12 else ""
    return f"use one of {listed}{more}"
