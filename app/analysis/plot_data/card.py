"""One inference on the simulated card: what a process is asked, and its answer as a plain value.

Only the card's own compiler knows the schedule, and no process that follows runs imports it: it is
asked by a line of JSON, and answers by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.cases.case import Case
from app.machine.installed_runtimes import clock_of
from exporters import install_layout
from exporters.codec import from_json
from exporters.types import ExportedModel, GraphlapError
from runtimes.registry import parse_spec

COMMAND = install_layout.command("runtimes.fpga", "schedule", "--json")
"""The process: it answers line by line until nothing more is asked."""
LINES = 4
"""So many of a unit's instructions may be drawn below each other."""


@dataclass(frozen=True, slots=True)
class CardEvent:
    """An instruction: cycles after the request's arrival at which it begins, has issued, is done.

    `ahead` are the cycles of it that were done before the request arrived.
    """

    name: str
    unit: str
    begun: int
    issued: int
    done: int
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class CardRun:
    """The events of one request, and how full the card is."""

    model: str
    card: str
    release: str
    clock_mhz: float
    io_us: float
    cycles: int
    tiles_used: int
    tiles_total: int
    tiles_by_core: tuple[int, ...]
    events: tuple[CardEvent, ...]
    fidelity: str = ""

    @property
    def latency_us(self) -> float:
        return self.io_us + self.cycles / self.clock_mhz

    @property
    def units(self) -> tuple[str, ...]:
        """In the order in which they begin."""
        return tuple(dict.fromkeys(event.unit for event in self.events))


def question(case: Case, model: ExportedModel) -> str:
    """The line that asks for a case's schedule; "" of one that does not run on a card."""
    if clock_of(case.runtime) != "simulated":
        return ""
    spec, model = parse_spec(case.runtime), model.at(case.axes)
    request = {
        "model": model.name,
        "path": model.path,
        "axes": {name: model.axes[name] for name in model.open_axes},
        "states": [[pair.input, pair.output] for pair in model.states],
        "card": spec.device,
        "release": spec.release,
        "options": dict(case.options),
        "gap_us": case.scenario.gap_us,
    }
    return json.dumps(request)


def parse_answer(line: str) -> CardRun | GraphlapError:
    """What the process said, or why there is nothing to be had."""
    answer = json.loads(line)
    if "problem" in answer:
        return GraphlapError(**answer["problem"])
    return from_json(CardRun, answer)


def card_runs(questions: Sequence[str]) -> Iterator[CardRun | GraphlapError]:
    """An answer to each; waits for them. One that ends the process leaves the others theirs."""
    remaining = list(questions)
    while remaining:
        lines, exit_text = _ask(remaining)
        yield from map(parse_answer, lines)
        remaining = remaining[len(lines) :]
        if remaining:
            yield process_error(exit_text)
            remaining = remaining[1:]


def process_error(exit_text: str) -> GraphlapError:
    """Of a process that is gone without an answer."""
    return GraphlapError(
        f"the card's compiler ended with {exit_text}",
        "try again, and report it if it ends so again",
    )


def _ask(questions: Sequence[str]) -> tuple[list[str], str]:
    """The answers to the first of these, and how the process ended."""
    process = install_layout.run_child(COMMAND, "".join(f"{line}\n" for line in questions))
    return process.stdout.splitlines(), f"exit code {process.returncode}"


def assign_lines(events: Sequence[CardEvent]) -> list[tuple[CardEvent, int]]:
    """The events of one unit, each with the first line below each other that is free again."""
    free = [0] * LINES
    assignments = []
    for event in sorted(events, key=lambda e: e.begun):
        line = next((k for k, free_from in enumerate(free) if free_from <= event.begun), 0)
        free[line] = max(free[line], event.done)
        assignments.append((event, line))
    return assignments
