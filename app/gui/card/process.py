"""Asks for the schedule of one case on the simulated card, in a process of its own."""

from __future__ import annotations

import json

from app.gui.card.run import CardRun
from app.machine.available import clock_of
from app.machine.child import Child
from app.results.follow.details import CaseDetails
from exporters import own
from exporters.types import GraphlapError
from runtimes.registry import parse_spec

_COMMAND = own.command("runtimes.fpga", "schedule", "--json")


class CardProcess:
    """One question at a time; a new one drops the one before."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def ask(self, details: CaseDetails) -> bool:
        """Start on a case; False if it does not run on a card."""
        self.close()
        case, model = details.case, details.model.at(details.case.axes)
        spec = parse_spec(case.runtime)
        if clock_of(case.runtime) != "simulated":
            return False
        self._child = Child(_COMMAND)
        question = {
            "model": model.name,
            "path": model.path,
            "axes": {name: model.axes[name] for name in model.open_axes},
            "states": [[pair.input, pair.output] for pair in model.states],
            "card": spec.device,
            "release": spec.release,
            "options": dict(case.options),
            "gap_us": case.scenario.gap_us,
        }
        self._child.send(json.dumps(question))
        return True

    @property
    def is_busy(self) -> bool:
        return self._child is not None

    def poll(self) -> CardRun | GraphlapError | None:
        """The answer once it is there, an error if there is none to be had, else None."""
        if self._child is None:
            return None
        ended = self._child.ended()
        lines = self._child.lines()
        if not lines:
            if not ended:
                return None
            how = self._child.how_it_ended()
            self.close()
            return GraphlapError(
                f"the card's compiler ended with {how}",
                "choose the case again, and report it if it ends so again",
            )
        self.close()
        answer = json.loads(lines[0])
        if "problem" in answer:
            return GraphlapError(**answer["problem"])
        return CardRun.from_json(answer)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
