"""What a row says of figures that another program measured: whose they are, and of what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RUNTIME = "imported"
"""What the runtimes of such cases are called, with the program behind a colon."""


@dataclass(frozen=True, slots=True)
class Imported:
    """`program` wrote `file`, of this `sha256`; its `version` is empty where the file tells none.

    `clock` says what it read, `boundary` what lies between the two readings. `figures` are what
    the program states or would print of these runs, by the names of columns; `calls` is how many
    calls a sample is the mean of.
    """

    program: str
    version: str
    file: str
    sha256: str
    clock: str
    boundary: str
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    calls: int = 1

    @property
    def told(self) -> str:
        """`pyperf 2.9.0`."""
        return f"{self.program} {self.version}".strip()


def is_imported(runtime: str) -> bool:
    """Whether a case's runtime stands for another program."""
    return runtime.partition(":")[0] == RUNTIME
