"""A graph on the simulated card as a session: ONNX Runtime for outputs, the model for timings and
operator times.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import onnxruntime as ort

from runtimes.errors import RunFault
from runtimes.execution import Arrivals, Execution, OpTime, Queries, Samples, Scheduled
from runtimes.fpga.card.compiler import Compiled, Schedule
from runtimes.fpga.card.timing import fidelity, idle_cycles, io_us, simulate
from runtimes.onnxruntime.session import OrtLane, OrtSession

_UNITS = {"matrix": "MatrixVector", "element": "Elementwise"}


def op_times(compiled_model: Compiled, idle_us: float) -> tuple[OpTime, ...]:
    """The way over the link and every instruction, for a request `idle_us` after the last.

    Their times add up to the mean latency of the request.
    """
    schedule = compiled_model.scheduler.after_idle(idle_cycles(compiled_model, idle_us))
    cycles = critical_cycles(schedule)
    link = OpTime("link", "Transfer", io_us(compiled_model), "host link, there and back")
    return link, *(
        OpTime(
            node=instruction.name,
            op=_UNITS[instruction.unit],
            time_us=cycles.get(number, 0) / compiled_model.card.clock_mhz,
            engine_name=f"{instruction.unit} unit, {cycles.get(number, 0)} cycles of the path",
            holds=tuple(instruction.name.split("+")),
        )
        for number, instruction in enumerate(compiled_model.program)
    )


def critical_cycles(schedule: Schedule) -> dict[int, int]:
    """Instruction -> the cycles that it adds to the critical path; they add up to all of it."""
    path = schedule.critical_path()
    if not path:
        return {}
    cycles = {
        event.instruction: next_event.begun - event.begun for event, next_event in pairwise(path)
    }
    return cycles | {path[-1].instruction: path[-1].done - path[-1].begun}


class FpgaSession(OrtSession):
    """`compiled_model` is None where the card could not take the whole graph; `cards` equal ones
    share the requests.

    `execution.facts` hold the figures of back-to-back requests until `simulate` was called,
    and from then on those of its arrivals; so do the times of the operators.
    """

    def __init__(
        self,
        engine: ort.InferenceSession,
        lane: OrtLane,
        execution: Execution,
        compiled_model: Compiled | None,
        cards: int = 1,
    ) -> None:
        super().__init__(engine, (lane,), execution)
        self._compiled_model = None if execution.elsewhere else compiled_model
        self._cards = cards
        self._idle_us = 0.0
        if self._compiled_model is not None:
            self.execution = replace(self.execution, facts=_facts(self._compiled_model, 0.0, cards))

    def simulate(self, arrivals: Arrivals, rng: np.random.Generator) -> Samples:
        if self._compiled_model is None:
            raise RunFault(
                "part of the graph runs elsewhere, so the card has no latency for it",
                "use a graph that the card takes whole",
            )
        if not isinstance(arrivals, Scheduled):
            overlapping = isinstance(arrivals, Queries)
            self._idle_us = 0.0 if isinstance(arrivals, Queries) else arrivals.gap_ns / 1e3
            facts = _facts(
                self._compiled_model, self._idle_us, self._cards, overlapping=overlapping
            )
            self.execution = replace(self.execution, facts=facts)
        return simulate(self._compiled_model, arrivals, rng, self._cards)

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        """From the schedule, whatever `runs` is: each request takes the same cycles."""
        if self._compiled_model is None:
            return super().operator_times(runs)
        return op_times(self._compiled_model, self._idle_us)


def _facts(
    compiled_model: Compiled, idle_us: float, cards: int, *, overlapping: bool = False
) -> dict[str, float | int | str]:
    """The row's columns for requests that arrive `idle_us` after the last was finished."""
    schedule = compiled_model.scheduler.after_idle(idle_cycles(compiled_model, idle_us))
    trust = fidelity(compiled_model, idle_us, overlapping=overlapping or cards > 1)
    return {
        "cycles": schedule.cycles,
        "io_us": round(io_us(compiled_model), 6),
        "weight_tiles_used": compiled_model.placement.used,
        "weight_tiles_total": compiled_model.placement.total,
        "activation_bytes": compiled_model.memory.peak_bytes,
        "spilled_bytes": compiled_model.memory.spilled_bytes,
        "fidelity": trust.word,
        "fidelity_reason": trust.reason,
        "card_release": compiled_model.release.name,
    }
