"""`python -m runtimes.fpga`: reports of a graph's schedule on a card.

`explain model.onnx --card v80` tells people, `schedule --json` tells programs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from exporters import install_layout
from exporters.types import GraphlapError
from runtimes.fpga.card.compiler import Compiled, Schedule, compile_graph
from runtimes.fpga.card.timing import fidelity, idle_cycles, io_us, latency_us, transfer
from runtimes.fpga.cards import DEFAULT_CARD, card_keys, load_card, read_target
from runtimes.fpga.graph import importer
from runtimes.fpga.graph.importer import load
from runtimes.fpga.lower.steps import MatrixStep


def plain(name: str) -> str:
    r"""`a\x1b[2J` for a name that would clear a screen; others as they are."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


_COLUMNS = 72
_NAME, _LEAST_NAME, _LINE_WIDTH = 34, 12, 80
_FIGURES = ("work", "ahead", "issue", "depth", "begins", "ends")


def explain(compiled_model: Compiled, schedule: Schedule) -> str:
    """The whole report: costs, what was done ahead, instructions, critical path, cores."""
    parts = (
        _summary(compiled_model, schedule),
        _instructions(compiled_model, schedule),
        _critical_path(compiled_model, schedule),
        _cores(compiled_model, schedule),
        _timeline(compiled_model, schedule),
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def core_use(compiled_model: Compiled, schedule: Schedule) -> tuple[float, ...]:
    """Per core, the share of the request's cycles in which it multiplies.

    A matrix keeps the core with most of its tiles busy for as long as it issues.
    """
    busy = [0.0] * compiled_model.card.cores
    for event in schedule.events:
        step = compiled_model.lowered.steps[event.instruction]
        if isinstance(step, MatrixStep):
            core_tiles = compiled_model.placement.tiles[step.matrix]
            for core, tiles in enumerate(core_tiles):
                busy[core] += (event.issued - event.begun) * tiles / max(*core_tiles, 1)
    return tuple(cycles / max(schedule.cycles, 1) for cycles in busy)


def _summary(compiled_model: Compiled, schedule: Schedule) -> Iterator[str]:
    card = compiled_model.card
    placement = compiled_model.placement
    lowered_model = compiled_model.lowered
    trust = fidelity(compiled_model)
    yield (
        f"{plain(lowered_model.name) or 'graph'} on {card.name} at {compiled_model.release.name}: "
        f"{card.clock_mhz:g} MHz, {card.cores} cores, blocks of {card.block}"
    )
    share = placement.used / placement.total
    yield f"weights    {placement.used} of {placement.total} tiles ({share:.1%})"
    yield from _resources(compiled_model)
    yield f"memory     {_memory(compiled_model)}"
    yield (
        f"link       {lowered_model.input_bytes} bytes in, {lowered_model.output_bytes} out: "
        f"{io_us(compiled_model):.3f} us{_way(compiled_model)}"
    )
    for label, idle_us in (("spaced", math.inf), ("contiguous", 0.0)):
        us = latency_us(compiled_model, idle_us)
        cycles = round((us - io_us(compiled_model)) * card.clock_mhz)
        yield f"{label:<10} {us:.3f} us, {cycles} cycles on the card"
    cycles_ahead = sum(event.ahead for event in schedule.events) + _wholly_ahead(
        compiled_model, schedule
    )
    yield f"ahead      {cycles_ahead} cycles of issue done before the request below arrives"
    yield f"fidelity   {trust.word}{f' ({trust.reason})' if trust.reason else ''}"


def _memory(compiled_model: Compiled) -> str:
    memory = compiled_model.memory
    if memory.limit_bytes is None:
        return f"{memory.peak_bytes} bytes at once; the card's file gives no part to hold them"
    share = f"{memory.peak_bytes} of at most {memory.limit_bytes} bytes"
    if not memory.spilled_bytes:
        return f"{share}: on the chip"
    moved_bytes = sum(memory.moved_bytes.values())
    return f"{share}: {memory.spilled_bytes} bytes spill, {moved_bytes} are moved for each request"


def _resources(compiled_model: Compiled) -> Iterator[str]:
    card, part = compiled_model.card, compiled_model.card.part
    if part is None:
        return
    products, memory = card.multiplications, card.weight_bytes
    yield (
        f"part       {part.name}: {products} of {part.multiplications} products a cycle "
        f"({products / part.multiplications:.0%}), weights {memory} of {part.memory_bytes} bytes "
        f"({memory / part.memory_bytes:.0%}), logic not published"
    )


def _way(compiled_model: Compiled) -> str:
    link_transfer = transfer(compiled_model)
    return "" if link_transfer is None else f", by {link_transfer.way}"


def _wholly_ahead(compiled_model: Compiled, schedule: Schedule) -> int:
    """Cycles of the instructions of which nothing was left for the request."""
    left = {event.instruction for event in schedule.events}
    return sum(i.ahead for number, i in enumerate(compiled_model.program) if number not in left)


def _instructions(compiled_model: Compiled, schedule: Schedule) -> Iterator[str]:
    events = {event.instruction: event for event in schedule.events}
    rows: list[tuple[str, ...]] = [("instruction", "unit", *_FIGURES)]
    for number, instruction in enumerate(compiled_model.program):
        figures = [instruction.work, instruction.ahead]
        event = events.get(number)
        if event is not None:
            issue, depth = event.issued - event.begun, event.done - event.issued
            figures = [instruction.work, event.ahead, issue, depth, event.begun, event.done]
        rows.append((instruction.name, instruction.unit, *map(str, figures)))
    widths = [
        max(len(row[place]) for row in rows if place < len(row)) for place in range(len(rows[0]))
    ]
    room = max(_LEAST_NAME, min(_NAME, _LINE_WIDTH - sum(width + 1 for width in widths[1:])))
    for name, unit, *cells in rows:
        line = f"{_short(name, room):<{room}} {unit:<{widths[1]}}" + "".join(
            f" {cell:>{width}}" for cell, width in zip(cells, widths[2:], strict=False)
        )
        yield line if len(cells) == len(_FIGURES) else f"{line}  all of it before the request"
    yield "work: tile products or block passes; the rest in cycles after the arrival"


def _critical_path(compiled_model: Compiled, schedule: Schedule) -> Iterator[str]:
    path = schedule.critical_path()
    yield f"critical path: {schedule.cycles} cycles over {len(path)} instructions"
    for event, following in zip(path, (*path[1:], None), strict=False):
        end = event.done if following is None else following.begun
        why = "" if following is None or end >= event.done else ", then its unit is free"
        name = _short(compiled_model.program[event.instruction].name)
        yield f"  {name:<{_NAME}} {end - event.begun:>6} cycles{why}"


def _cores(compiled_model: Compiled, schedule: Schedule) -> Iterator[str]:
    yield "core    tiles held    multiplying during the request"
    tile_counts = [sum(column) for column in zip(*compiled_model.placement.tiles, strict=True)]
    tile_counts = tile_counts or [0] * compiled_model.card.cores
    for core, share in enumerate(core_use(compiled_model, schedule)):
        yield f"{core:>4}{tile_counts[core]:>14}    {share:>6.1%}"


def _timeline(compiled_model: Compiled, schedule: Schedule) -> Iterator[str]:
    yield f"timeline of {schedule.cycles} cycles: # issues, - is in the pipeline"
    scale = _COLUMNS / max(schedule.cycles, 1)
    for unit in ("matrix", "element"):
        line = [" "] * _COLUMNS
        unit_events = [
            e for e in schedule.events if compiled_model.program[e.instruction].unit == unit
        ]
        for mark, spans in (
            ("-", [(e.issued, e.done) for e in unit_events]),
            ("#", [(e.begun, e.issued) for e in unit_events]),
        ):
            for begin, end in spans:
                first = min(int(begin * scale), _COLUMNS - 1)
                for column in range(first, max(first + (end > begin), int(end * scale))):
                    line[column] = mark
        yield f"  {unit:<8}|{''.join(line)}|"


def _short(name: str, room: int = _NAME) -> str:
    name = plain(name)
    return name if len(name) <= room else f"{name[: room - 3]}..."


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
    compiled_model = compile_graph(graph, target.card, target.release.name)
    idle_schedule = compiled_model.scheduler.after_idle(
        idle_cycles(compiled_model, question["gap_us"])
    )
    program, placement = compiled_model.program, compiled_model.placement
    by_core = [sum(column) for column in zip(*placement.tiles, strict=True)]
    return {
        "model": question["model"],
        "card": compiled_model.card.name,
        "release": compiled_model.release.name,
        "clock_mhz": compiled_model.card.clock_mhz,
        "io_us": io_us(compiled_model),
        "cycles": idle_schedule.cycles,
        "tiles_used": placement.used,
        "tiles_total": placement.total,
        "tiles_by_core": by_core or [0] * compiled_model.card.cores,
        "events": [
            {
                "name": program[event.instruction].name,
                "unit": program[event.instruction].unit,
                "begun": event.begun,
                "issued": event.issued,
                "done": event.done,
                "ahead": event.ahead,
            }
            for event in idle_schedule.events
        ],
        "fidelity": fidelity(compiled_model, question["gap_us"]).word,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0, or 1 with one sentence on standard error."""
    options = _parser().parse_args(arguments)
    if options.command == "schedule":
        answer_lines(sys.stdin, sys.stdout)
        return 0
    try:
        sys.stdout.write(_explanation(options))
    except GraphlapError as error:
        sys.stderr.write(f"{plain(str(error))}\n")
        return 1
    return 0


def _explanation(chosen: argparse.Namespace) -> str:
    axes = dict(_axis(text) for text in chosen.axis)
    card, _, release = chosen.card.partition("@")
    states = tuple(_state(text) for text in chosen.state)
    compiled = compile_graph(load(chosen.model, axes, states or None), load_card(card), release)
    schedule = compiled.scheduler.after_idle(idle_cycles(compiled, chosen.idle_us))
    return explain(compiled, schedule)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {install_layout.module_name('runtimes.fpga')}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    _add_explain(commands.add_parser("explain", help="where the cycles of a graph go on a card"))
    schedule = commands.add_parser(
        "schedule", help="the same for programs: an answer to each question"
    )
    schedule.add_argument(
        "--json",
        action="store_true",
        required=True,
        help="a JSON line on standard output for each of standard input",
    )
    return parser


def _add_explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", help="an .onnx file")
    command.add_argument(
        "--card",
        default=DEFAULT_CARD,
        metavar="CARD[@RELEASE]",
        help=f"{', '.join(card_keys())}, or a card's .toml file (default: {DEFAULT_CARD})",
    )
    command.add_argument(
        "--axis", action="append", default=[], metavar="NAME=SIZE", help="size of a named axis"
    )
    command.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="OUT=IN",
        help="output that is an input of the next request",
    )
    command.add_argument(
        "--idle-us",
        type=float,
        default=float("inf"),
        help="time since the last request was finished; 0 for back to back (default: long enough)",
    )


def _state(text: str) -> tuple[str, str]:
    """Input and output of `OUT=IN`."""
    output, _, name = text.partition("=")
    if not name or not output:
        raise GraphlapError(f"--state {text}: no pair of an output and an input", "write OUT=IN")
    return name, output


def _axis(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not name or not size.isdecimal() or int(size) < 1:
        raise GraphlapError(f"--axis {text} sets nothing", "write --axis NAME=SIZE, as in batch=1")
    return name, int(size)


if __name__ == "__main__":
    sys.exit(main())
