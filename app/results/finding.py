"""One thing that is wrong with a run folder, for who looks at all of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about one file, a path within the folder, and what to do. What is `harmless` loses
    nothing that was measured."""

    file: str
    what: str
    remedy: str
    harmless: bool = False
