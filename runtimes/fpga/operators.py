"""A schedule as operator times: what each instruction adds to the latency of a request.

Instructions overlap, so that their own durations would add up to more than the request
takes. What counts here are the cycles of the critical path; an instruction that runs in
the shadow of others, or before the request arrives, adds none.
"""

from __future__ import annotations

from itertools import pairwise

from runtimes.execution import OpTime
from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.card.schedule import Schedule
from runtimes.fpga.card.timing import idle_cycles
from runtimes.fpga.card.transfers import io_us

_UNITS = {"matrix": "MatrixVector", "element": "Elementwise"}


def op_times(compiled: Compiled, idle_us: float) -> tuple[OpTime, ...]:
    """The way over the link and every instruction, for a request `idle_us` after the last.

    Their times add up to the mean latency of the request.
    """
    schedule = compiled.scheduler.after_idle(idle_cycles(compiled, idle_us))
    cycles = critical_cycles(schedule)
    link = OpTime("link", "Transfer", io_us(compiled), "host link, there and back")
    return link, *(
        OpTime(
            node=instruction.name,
            op=_UNITS[instruction.unit],
            time_us=cycles.get(number, 0) / compiled.card.clock_mhz,
            engine_name=f"{instruction.unit} unit, {cycles.get(number, 0)} cycles of the path",
            holds=tuple(instruction.name.split("+")),
        )
        for number, instruction in enumerate(compiled.program)
    )


def critical_cycles(schedule: Schedule) -> dict[int, int]:
    """Instruction -> the cycles that it adds to the critical path; they add up to all of it."""
    path = schedule.critical_path()
    if not path:
        return {}
    spent = {event.instruction: after.begun - event.begun for event, after in pairwise(path)}
    return spent | {path[-1].instruction: path[-1].done - path[-1].begun}
