"""A session made of others, such as the streams of an engine or several sessions at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from runtimes.base import Arrays, Session
from runtimes.session.host import closed


class SessionOfParts(Session):
    """Its slots are those of its parts, one part's after the other's; who made them closes them."""

    run: Callable[[], object]

    def __init__(self, parts: Sequence[Session]) -> None:
        self._slots = [(part, own) for part in parts for own in range(part.slots)]
        self.slots = len(self._slots)
        self.run = parts[0].run

    def bind(self, inputs: Arrays, slot: int = 0) -> None:
        part, own = self._slots[slot]
        part.bind(inputs, own)

    def outputs(self, slot: int = 0) -> dict[str, np.ndarray]:
        part, own = self._slots[slot]
        return part.outputs(own)

    def poison(self, slot: int = 0) -> None:
        part, own = self._slots[slot]
        part.poison(own)

    def advance_state(self, slot: int = 0) -> None:
        part, own = self._slots[slot]
        part.advance_state(own)

    def run_of(self, slot: int) -> Callable[[], object]:
        part, own = self._slots[slot]
        return part.run_of(own)

    def enter(self, slot: int = 0) -> None:
        part, own = self._slots[slot]
        part.enter(own)

    def close(self) -> None:
        self.run = closed
        self._slots = []
