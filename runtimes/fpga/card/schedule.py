"""When every instruction runs: each unit takes its instructions in order, as inputs are ready.

The same walk is done twice: over the parts that depend on held state alone, from the end
of the last request on, and over what of the program is then left when the next arrives.
Spaced requests find all of the first walk done, back-to-back ones nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtimes.fpga.card.instructions import Instruction, Unit


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
        self._ahead = _walk(
            program if works_ahead else (),
            [i.ahead for i in program],
            # The fresh half of a matrix follows the stale half through the same pipeline.
            [0 if i.fresh_issue else i.depth for i in program],
        )
        self.ahead_cycles = max((event.done for event in self._ahead), default=0)

    def after_idle(self, idle_cycles: int | None) -> Schedule:
        """The schedule of a request that arrives that long after the last; None: long enough."""
        idle = self.ahead_cycles if idle_cycles is None else min(idle_cycles, self.ahead_cycles)
        issue = [i.issue for i in self._program]
        depth = [i.depth for i in self._program]
        ahead = [0] * len(issue)
        for event in self._ahead:
            position = event.instruction
            work = self._program[position]
            ahead[position] = done = min(work.ahead, max(0, idle - event.begun))
            if done == work.ahead:
                issue[position] = work.fresh_issue
                if not work.fresh_issue:
                    depth[position] = max(0, event.done - idle)
            else:
                issue[position] = max(work.fresh_issue, work.issue - done)
        events = _walk(self._program, issue, depth, ahead)
        cycles = max((event.done for event in events), default=0)
        return Schedule(tuple(events), cycles)


def _walk(
    program: Sequence[Instruction],
    issue: Sequence[int],
    depth: Sequence[int],
    ahead: Sequence[int] | None = None,
) -> list[Event]:
    """Events of the instructions that have any cycles left; the others are complete at 0."""
    free: dict[Unit, tuple[int, int | None]] = {"matrix": (0, None), "element": (0, None)}
    done = [0] * len(program)
    events = []
    for position, instruction in enumerate(program):
        if not issue[position] and not depth[position]:
            continue
        begun, waited_for = free[instruction.unit]
        for earlier in instruction.after:
            if done[earlier] > begun:
                begun, waited_for = done[earlier], earlier
        issued = begun + issue[position]
        done[position] = issued + depth[position]
        free[instruction.unit] = (issued, position)
        cycles_ahead = 0 if ahead is None else ahead[position]
        events.append(Event(position, begun, issued, done[position], cycles_ahead, waited_for))
    return events
