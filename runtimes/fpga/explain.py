"""Why a graph takes as long as it does on a card, as text for people.

Takes what the compiler and the scheduler found; decides nothing itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.card.schedule import Schedule
from runtimes.fpga.card.timing import fidelity, latency_us
from runtimes.fpga.card.transfers import io_us, transfer
from runtimes.fpga.lower.steps import MatrixStep
from runtimes.fpga.plain import plain

_COLUMNS = 72
_NAME = 34


def explain(compiled: Compiled, schedule: Schedule) -> str:
    """The whole report: costs, what was done ahead, instructions, critical path, cores."""
    parts = (
        _summary(compiled, schedule),
        _instructions(compiled, schedule),
        _critical_path(compiled, schedule),
        _cores(compiled, schedule),
        _timeline(compiled, schedule),
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def core_use(compiled: Compiled, schedule: Schedule) -> tuple[float, ...]:
    """Per core, the share of the request's cycles in which it multiplies.

    A matrix keeps the core with most of its tiles busy for as long as it issues.
    """
    busy = [0.0] * compiled.card.cores
    for event in schedule.events:
        step = compiled.lowered.steps[event.instruction]
        if isinstance(step, MatrixStep):
            held = compiled.placement.tiles[step.matrix]
            for core, tiles in enumerate(held):
                busy[core] += (event.issued - event.begun) * tiles / max(*held, 1)
    return tuple(cycles / max(schedule.cycles, 1) for cycles in busy)


def _summary(compiled: Compiled, schedule: Schedule) -> Iterator[str]:
    card, placement, lowered = compiled.card, compiled.placement, compiled.lowered
    trust = fidelity(compiled)
    yield (
        f"{plain(lowered.name) or 'graph'} on {card.name} at {compiled.release.name}: "
        f"{card.clock_mhz:g} MHz, {card.cores} cores, blocks of {card.block}"
    )
    share = placement.used / placement.total
    yield f"weights    {placement.used} of {placement.total} tiles ({share:.1%})"
    yield from _resources(compiled)
    yield f"memory     {_memory(compiled)}"
    yield (
        f"link       {lowered.input_bytes} bytes in, {lowered.output_bytes} out: "
        f"{io_us(compiled):.3f} us{_way(compiled)}"
    )
    for label, idle_us in (("spaced", math.inf), ("contiguous", 0.0)):
        us = latency_us(compiled, idle_us)
        cycles = round((us - io_us(compiled)) * card.clock_mhz)
        yield f"{label:<10} {us:.3f} us, {cycles} cycles on the card"
    before = sum(event.ahead for event in schedule.events) + _wholly_ahead(compiled, schedule)
    yield f"ahead      {before} cycles of issue done before the request below arrives"
    yield f"fidelity   {trust.word}{f' ({trust.reason})' if trust.reason else ''}"


def _memory(compiled: Compiled) -> str:
    memory = compiled.memory
    if memory.limit_bytes is None:
        return f"{memory.peak_bytes} bytes at once; the card's file gives no part to hold them"
    share = f"{memory.peak_bytes} of at most {memory.limit_bytes} bytes"
    if not memory.spilled_bytes:
        return f"{share}: on the chip"
    moved = sum(memory.moved_bytes.values())
    return f"{share}: {memory.spilled_bytes} bytes spill, {moved} are moved for each request"


def _resources(compiled: Compiled) -> Iterator[str]:
    card, part = compiled.card, compiled.card.part
    if part is None:
        return
    products, memory = card.multiplications, card.weight_bytes
    yield (
        f"part       {part.name}: {products} of {part.multiplications} products a cycle "
        f"({products / part.multiplications:.0%}), weights {memory} of {part.memory_bytes} bytes "
        f"({memory / part.memory_bytes:.0%}), logic not published"
    )


def _way(compiled: Compiled) -> str:
    measured = transfer(compiled)
    return "" if measured is None else f", by {measured.way}"


def _wholly_ahead(compiled: Compiled, schedule: Schedule) -> int:
    """Cycles of the instructions of which nothing was left for the request."""
    left = {event.instruction for event in schedule.events}
    return sum(i.ahead for number, i in enumerate(compiled.program) if number not in left)


def _instructions(compiled: Compiled, schedule: Schedule) -> Iterator[str]:
    events = {event.instruction: event for event in schedule.events}
    yield f"{'instruction':<{_NAME}} unit      work  ahead  issue  depth  begins   ends"
    for number, instruction in enumerate(compiled.program):
        event = events.get(number)
        line = f"{_short(instruction.name):<{_NAME}} {instruction.unit:<7}{instruction.work:>7}"
        if event is None:
            yield f"{line}{instruction.ahead:>7}   all of it before the request"
        else:
            yield (
                f"{line}{event.ahead:>7}{event.issued - event.begun:>7}"
                f"{event.done - event.issued:>7}{event.begun:>8}{event.done:>7}"
            )
    yield "work: tile products or block passes; the rest in cycles after the arrival"


def _critical_path(compiled: Compiled, schedule: Schedule) -> Iterator[str]:
    path = schedule.critical_path()
    yield f"critical path: {schedule.cycles} cycles over {len(path)} instructions"
    for event, following in zip(path, (*path[1:], None), strict=False):
        end = event.done if following is None else following.begun
        why = "" if following is None or end >= event.done else ", then its unit is free"
        name = _short(compiled.program[event.instruction].name)
        yield f"  {name:<{_NAME}} {end - event.begun:>6} cycles{why}"


def _cores(compiled: Compiled, schedule: Schedule) -> Iterator[str]:
    yield "core    tiles held    multiplying during the request"
    held = [sum(column) for column in zip(*compiled.placement.tiles, strict=True)]
    held = held or [0] * compiled.card.cores
    for core, share in enumerate(core_use(compiled, schedule)):
        yield f"{core:>4}{held[core]:>14}    {share:>6.1%}"


def _timeline(compiled: Compiled, schedule: Schedule) -> Iterator[str]:
    yield f"timeline of {schedule.cycles} cycles: # issues, - is in the pipeline"
    scale = _COLUMNS / max(schedule.cycles, 1)
    for unit in ("matrix", "element"):
        line = [" "] * _COLUMNS
        chosen = [e for e in schedule.events if compiled.program[e.instruction].unit == unit]
        for mark, spans in (
            ("-", [(e.issued, e.done) for e in chosen]),
            ("#", [(e.begun, e.issued) for e in chosen]),
        ):
            for begin, end in spans:
                first = min(int(begin * scale), _COLUMNS - 1)
                for column in range(first, max(first + (end > begin), int(end * scale))):
                    line[column] = mark
        yield f"  {unit:<8}|{''.join(line)}|"


def _short(name: str) -> str:
    name = plain(name)
    return name if len(name) <= _NAME else f"{name[: _NAME - 3]}..."
