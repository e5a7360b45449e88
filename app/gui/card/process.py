"""Asks for the schedule of one case on the simulated card, in a process of its own."""

from __future__ import annotations

from app.capabilities.simulated_card.inference import (
    COMMAND,
    CardRun,
    parse_answer,
    process_error,
    question,
)
from app.machine.child import Child
from app.runs.following.state import CaseDetails
from exporters.types import GraphlapError


class CardProcess:
    """One question at a time; a new one drops the one before."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def ask(self, details: CaseDetails) -> bool:
        """Start on a case; False if it does not run on a card."""
        self.close()
        line = question(details.case, details.model)
        if not line:
            return False
        self._child = Child(COMMAND)
        self._child.send(line)
        return True

    @property
    def is_busy(self) -> bool:
        return self._child is not None

    def poll(self) -> CardRun | GraphlapError | None:
        """The answer once it is there, an error if there is none to be had, else None."""
        if self._child is None:
            return None
        gone = self._child.ended()
        lines = self._child.lines()
        if not lines:
            if not gone:
                return None
            how = self._child.how_it_ended()
            self.close()
            return process_error(how)
        self.close()
        return parse_answer(lines[0])

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
