"""`python -m app.gui.card.worker`: one request on the simulated card, as JSON.

Takes one JSON line (path, axes, states, card, release, options, gap_us) and answers the
schedule and the fit as `CardRun`, or `{"cause": …, "remedy": …}`. Compiling a network can take
seconds and needs the card's compiler, so it happens in a process of its own.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from app.gui.card.run import CardEvent, CardRun
from exporters.types import GraphlapError
from runtimes.fpga.card import importer
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.card.timing import fidelity, idle_cycles, io_us
from runtimes.fpga.options import read_target


def main() -> int:
    """One answer to one question."""
    os.nice(19)
    asked = json.loads(sys.stdin.readline())
    try:
        answer = asdict(card_run(asked))
    except GraphlapError as error:
        answer = {"cause": error.cause, "remedy": error.remedy}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def card_run(asked: dict[str, Any]) -> CardRun:
    """Compile and schedule; Unsupported for what the card can't run."""
    options = {name: str(value) for name, value in asked["options"].items()}
    target = read_target({"card": asked["card"], "release": asked["release"], **options})
    states = tuple((pair[0], pair[1]) for pair in asked["states"])
    graph = importer.load(asked["path"], asked["axes"], states)
    compiled = compile_graph(graph, target.card, target.release.name)
    schedule = compiled.scheduler.after_idle(idle_cycles(compiled, asked["gap_us"]))
    program, placement = compiled.program, compiled.placement
    by_core = tuple(sum(column) for column in zip(*placement.tiles, strict=True))
    return CardRun(
        model=asked["model"],
        card=compiled.card.name,
        release=compiled.release.name,
        clock_mhz=compiled.card.clock_mhz,
        io_us=io_us(compiled),
        cycles=schedule.cycles,
        tiles_used=placement.used,
        tiles_total=placement.total,
        tiles_by_core=by_core or (0,) * compiled.card.cores,
        events=tuple(
            CardEvent(
                name=program[event.instruction].name,
                unit=program[event.instruction].unit,
                begun=event.begun,
                issued=event.issued,
                done=event.done,
                ahead=event.ahead,
            )
            for event in schedule.events
        ),
        fidelity=fidelity(compiled).word,
    )


if __name__ == "__main__":
    sys.exit(main())
