"""Compiler of the simulated card: placement of weights, memory of activations, instructions and
their schedule.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from runtimes.errors import Unsupported
from runtimes.fpga.cards import Card, Release
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.lower import lower
from runtimes.fpga.lower.steps import ElementStep, Lowered, MatrixStep, live_bytes, tiles


@dataclass(frozen=True, slots=True)
class Placement:
    """`tiles[m][c]` are the tiles of matrix m on core c."""

    tiles: tuple[tuple[int, ...], ...]
    used: int
    total: int


def place(lowered_model: Lowered, card: Card, release: Release) -> Placement:
    """Deal the tiles out; Unsupported where the card holds fewer than are needed."""
    tile_counts = [matrix.tiles(card.block) for matrix in lowered_model.matrices]
    if sum(tile_counts) > card.tiles:
        raise Unsupported(
            f"needs {sum(tile_counts)} tiles, the card has {card.tiles}",
            "use a larger card or a smaller model",
        )
    few = {
        step.matrix
        for step in lowered_model.steps
        if isinstance(step, MatrixStep) and step.recurrent and release.recurrent_cores
    }
    free = [card.tiles_per_core] * card.cores
    tiles_by_core = tuple(
        _deal(count, free, release.recurrent_cores if matrix in few else card.cores)
        for matrix, count in enumerate(tile_counts)
    )
    return Placement(tiles_by_core, sum(tile_counts), card.tiles)


def _deal(count: int, free: list[int], wanted_cores: int) -> tuple[int, ...]:
    """Deal `count` tiles to the emptiest cores, to others once those are full."""
    order = sorted(range(len(free)), key=lambda core: -free[core])
    loads = [0] * len(free)
    for cores in (order[:wanted_cores], order[wanted_cores:]):
        while count and any(free[core] for core in cores):
            open_cores = [core for core in cores if free[core]]
            share, rest = divmod(count, len(open_cores))
            for position, core in enumerate(open_cores):
                share_size = min(free[core], share + (position < rest))
                loads[core] += share_size
                free[core] -= share_size
                count -= share_size
    return tuple(loads)


@dataclass(frozen=True, slots=True)
class ActivationMemory:
    """`peak_bytes` are held at once at most, `limit_bytes` is what the chip has for them (None:
    unknown). `spilled_bytes` is the size of the tensors outside the chip, and `moved_bytes` what
    each step writes and reads there."""

    peak_bytes: int
    limit_bytes: int | None
    spilled_bytes: int = 0
    moved_bytes: Mapping[int, int] = field(default_factory=dict)


def activation_memory(lowered_model: Lowered, card: Card) -> ActivationMemory:
    """The largest tensors of the fullest steps spill first, until the rest fits.

    Unsupported where the card has nowhere to put them.
    """
    kept_buffers = list(lowered_model.buffers)
    steps = len(lowered_model.steps)
    live = live_bytes(kept_buffers, steps)
    peak, limit = max(live, default=0), card.activation_bytes
    if limit is None or peak <= limit:
        return ActivationMemory(peak, limit)
    assert card.part is not None
    external = card.part.external_bytes
    if not external or not card.part.external_bytes_per_us:
        raise Unsupported(
            f"its activations need {peak} bytes at once, the chip has {limit} beyond its weights "
            "and the card's file gives no other memory",
            "use a smaller batch or a smaller model",
        )
    spilled_buffers = []
    while max(live) > limit:
        fullest = live.index(max(live))
        live_buffers = [buffer for buffer in kept_buffers if buffer.first <= fullest <= buffer.last]
        largest = max(live_buffers, key=lambda buffer: buffer.size)
        kept_buffers.remove(largest)
        spilled_buffers.append(largest)
        live = live_bytes(kept_buffers, steps)
    outside = max(live_bytes(spilled_buffers, steps))
    if outside > external:
        raise Unsupported(
            f"its activations need {outside} bytes outside the chip, the card has {external}",
            "use a smaller batch or a smaller model",
        )
    moved_bytes: Counter[int] = Counter()
    for buffer in spilled_buffers:
        for step in (buffer.made, *buffer.reads):
            moved_bytes[buffer.first if step is None else step] += buffer.size
    return ActivationMemory(
        peak, limit, sum(buffer.size for buffer in spilled_buffers), dict(moved_bytes)
    )


Unit = Literal["matrix", "element"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """`issue` cycles on a unit, a result `depth` cycles later.

    `ahead` cycles of it depend on held state alone; once they are done beforehand,
    `fresh_issue` are left. No fresh issue at all means that nothing of it is left.
    `work` counts tile products or block passes, what `issue` would be on one core.
    """

    name: str
    unit: Unit
    issue: int
    fresh_issue: int
    ahead: int
    depth: int
    work: int
    after: tuple[int, ...]


def assemble(
    lowered_model: Lowered, card: Card, release: Release, moved_bytes: Mapping[int, int]
) -> tuple[Instruction, ...]:
    """One instruction for each step, in order; `moved_bytes` go to and from memory outside the
    chip while a step issues."""
    program = [
        _multiply(step, lowered_model, card, release)
        if isinstance(step, MatrixStep)
        else _sweep(step, card, release)
        for step in lowered_model.steps
    ]
    for number, size in moved_bytes.items():
        assert card.part is not None
        cycles = math.ceil(size * card.clock_mhz / card.part.external_bytes_per_us)
        program[number] = _stall(program[number], cycles)
    return tuple(program)


def _stall(instruction: Instruction, cycles: int) -> Instruction:
    """The instruction with its issue held up by a transfer."""
    wholly_ahead = not instruction.fresh_issue
    return replace(
        instruction,
        issue=instruction.issue + cycles,
        fresh_issue=0 if wholly_ahead else instruction.fresh_issue + cycles,
        ahead=instruction.ahead + cycles if wholly_ahead else instruction.ahead,
    )


def _cores(step: MatrixStep | ElementStep, card: Card, release: Release) -> int:
    bound = release.recurrent_cores if step.recurrent else 0
    return min(card.cores, bound or card.cores)


def _multiply(
    step: MatrixStep, lowered_model: Lowered, card: Card, release: Release
) -> Instruction:
    """issue = vectors x ceil(tiles / cores)."""
    matrix = lowered_model.matrices[step.matrix]
    cores = _cores(step, card, release)
    issue = fresh_issue = work_ahead = work = 0
    for group in step.vectors:
        fresh, stale = (
            sum(tiles(matrix.groups, matrix.rows, part, card.block) for part in parts)
            for parts in (group.fresh, group.stale)
        )
        issue += group.count * -(-(fresh + stale) // cores)
        fresh_issue += group.count * -(-fresh // cores)
        work_ahead += group.count * -(-stale // cores)
        work += group.count * (fresh + stale)
    return Instruction(
        step.name, "matrix", issue, fresh_issue, work_ahead, card.matrix_depth, work, step.after
    )


def _sweep(step: ElementStep, card: Card, release: Release) -> Instruction:
    """issue = passes x ceil(blocks / cores)."""
    cores = _cores(step, card, release)
    depth = card.cell_depth if step.recurrent else card.element_depth
    fresh, stale = (-(-count // card.block) for count in (step.fresh, step.stale))
    return Instruction(
        name=step.name,
        unit="element",
        issue=step.passes * -(-(fresh + stale) // cores),
        fresh_issue=step.passes * -(-fresh // cores),
        ahead=step.passes * -(-stale // cores),
        depth=depth,
        work=step.passes * (fresh + stale),
        after=step.after,
    )


@dataclass(frozen=True, slots=True)
class Event:
    """One instruction's cycles after the request's arrival: begun, issued, result complete.

    `ahead` are the cycles of it done before. `waited_for` is the instruction whose end let
    this one begin, None where it could begin at once.
    """

    instruction: int
    begun: int
    issued: int
    done: int
    ahead: int
    waited_for: int | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Events of what ran after the arrival, in program order, and the cycles of it all."""

    events: tuple[Event, ...]
    cycles: int

    def critical_path(self) -> tuple[Event, ...]:
        """The chain of events that decides the length, in time order."""
        by_instruction = {event.instruction: event for event in self.events}
        path: list[Event] = []
        event = max(self.events, key=lambda e: e.done, default=None)
        while event is not None:
            path.append(event)
            event = None if event.waited_for is None else by_instruction[event.waited_for]
        return tuple(path[::-1])


class Scheduler:
    """The schedules of one program; what is done ahead is walked once.

    `ahead_cycles` is the length of all that can be done before a request arrives; 0 for a card
    that does not work ahead.
    """

    def __init__(self, program: Sequence[Instruction], works_ahead: bool = True) -> None:
        self._program = program
        self._work_ahead = _walk(
            program if works_ahead else (),
            [i.ahead for i in program],
            # The fresh half of a matrix follows the stale half through the same pipeline.
            [0 if i.fresh_issue else i.depth for i in program],
        )
        self.ahead_cycles = max((event.done for event in self._work_ahead), default=0)

    def after_idle(self, idle_cycles: int | None) -> Schedule:
        """The schedule of a request that arrives that long after the last; None: long enough."""
        idle = self.ahead_cycles if idle_cycles is None else min(idle_cycles, self.ahead_cycles)
        issue = [i.issue for i in self._program]
        depth = [i.depth for i in self._program]
        work_ahead = [0] * len(issue)
        for event in self._work_ahead:
            position = event.instruction
            work = self._program[position]
            work_ahead[position] = done_cycles = min(work.ahead, max(0, idle - event.begun))
            if done_cycles == work.ahead:
                issue[position] = work.fresh_issue
                if not work.fresh_issue:
                    depth[position] = max(0, event.done - idle)
            else:
                issue[position] = max(work.fresh_issue, work.issue - done_cycles)
        events = _walk(self._program, issue, depth, work_ahead)
        cycles = max((event.done for event in events), default=0)
        return Schedule(tuple(events), cycles)


def _walk(
    program: Sequence[Instruction],
    issue: Sequence[int],
    depth: Sequence[int],
    work_ahead: Sequence[int] | None = None,
) -> list[Event]:
    """Events of the instructions that have any cycles left; the others are complete at 0."""
    free: dict[Unit, tuple[int, int | None]] = {"matrix": (0, None), "element": (0, None)}
    end_cycles = [0] * len(program)
    events = []
    for position, instruction in enumerate(program):
        if not issue[position] and not depth[position]:
            continue
        begin_cycle, waited_for = free[instruction.unit]
        for earlier in instruction.after:
            if end_cycles[earlier] > begin_cycle:
                begin_cycle, waited_for = end_cycles[earlier], earlier
        issue_cycle = begin_cycle + issue[position]
        end_cycles[position] = issue_cycle + depth[position]
        free[instruction.unit] = (issue_cycle, position)
        cycles_ahead = 0 if work_ahead is None else work_ahead[position]
        events.append(
            Event(
                position, begin_cycle, issue_cycle, end_cycles[position], cycles_ahead, waited_for
            )
        )
    return events


@dataclass(frozen=True, slots=True)
class Compiled:
    """One graph on one card at one release."""

    card: Card
    release: Release
    lowered: Lowered
    placement: Placement
    memory: ActivationMemory
    program: tuple[Instruction, ...]
    scheduler: Scheduler


def compile_graph(graph: Graph, card: Card, release: str = "") -> Compiled:
    """Compile for a release of the card, the newest for "".

    Raises CardError for an unknown release, Unsupported for a node that can't be lowered,
    a type without a path and a graph that needs more tiles or memory than the card has.
    """
    return compile_lowered(lower(graph), card, release)


def compile_lowered(lowered_model: Lowered, card: Card, release: str = "") -> Compiled:
    """`compile_graph` for a graph that is lowered already, to try it on many cards."""
    card_release = card.release(release)
    placement = place(lowered_model, card, card_release)
    memory = activation_memory(lowered_model, card)
    program = assemble(lowered_model, card, card_release, memory.moved_bytes)
    scheduler = Scheduler(program, works_ahead=card_release.works_ahead)
    return Compiled(card, card_release, lowered_model, placement, memory, program, scheduler)
