"""One request on the simulated card as JSON, for programs that draw or compare schedules."""

from __future__ import annotations

import json
import os
from typing import Any, TextIO

from exporters.types import GraphlapError
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.card.timing import fidelity, idle_cycles
from runtimes.fpga.card.transfers import io_us
from runtimes.fpga.cards import DEFAULT_CARD
from runtimes.fpga.cards.target import read_target
from runtimes.fpga.graph import importer


def answer_lines(questions: TextIO, answers: TextIO) -> None:
    """Read questions, each a JSON line, until there are no more, and write each one's answer.

    What can't be answered is `{"problem": {"cause": ..., "remedy": ...}}`.
    """
    os.nice(19)  # who asks may be measuring
    for question in questions:
        try:
            answer = schedule(json.loads(question))
        except GraphlapError as error:
            answer = {"problem": {"cause": error.cause, "remedy": error.remedy}}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def schedule(question: dict[str, Any]) -> dict[str, Any]:
    """What a card does with a request that arrives `gap_us` after the last was finished.

    The question has `model` (a name, given back), `path`, `axes`, `states` (pairs of input and
    output), `card`, `release`, `options` and `gap_us`. Unsupported for what the card can't run.
    Events are in cycles after the arrival; `ahead` are those that were done before it.
    """
    options = {name: str(value) for name, value in question["options"].items()}
    card = question["card"] or DEFAULT_CARD
    target = read_target({"card": card, "release": question["release"], **options})
    states = tuple((pair[0], pair[1]) for pair in question["states"])
    graph = importer.load(question["path"], question["axes"], states)
    compiled = compile_graph(graph, target.card, target.release.name)
    timed = compiled.scheduler.after_idle(idle_cycles(compiled, question["gap_us"]))
    program, placement = compiled.program, compiled.placement
    by_core = [sum(column) for column in zip(*placement.tiles, strict=True)]
    return {
        "model": question["model"],
        "card": compiled.card.name,
        "release": compiled.release.name,
        "clock_mhz": compiled.card.clock_mhz,
        "io_us": io_us(compiled),
        "cycles": timed.cycles,
        "tiles_used": placement.used,
        "tiles_total": placement.total,
        "tiles_by_core": by_core or [0] * compiled.card.cores,
        "events": [
            {
                "name": program[event.instruction].name,
                "unit": program[event.instruction].unit,
                "begun": event.begun,
                "issued": event.issued,
                "done": event.done,
                "ahead": event.ahead,
            }
            for event in timed.events
        ],
        "fidelity": fidelity(compiled, question["gap_us"]).word,
    }
