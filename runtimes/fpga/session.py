"""One graph on the simulated card: ONNX Runtime's session for outputs, the model for timings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnxruntime as ort

from runtimes.execution import Arrivals, Execution, OpTime, Queries, Samples, Scheduled
from runtimes.faults import RunFault
from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.card.timing import fidelity, idle_cycles, simulate
from runtimes.fpga.card.transfers import io_us
from runtimes.fpga.operators import op_times
from runtimes.ort.lane import OrtLane
from runtimes.ort.session import OrtSession


class FpgaSession(OrtSession):
    """`compiled` is None where the card could not take the whole graph; `cards` equal ones share
    the requests.

    `execution.facts` hold the figures of back-to-back requests until `simulate` was called,
    and from then on those of its arrivals; so do the times of the operators.
    """

    def __init__(
        self,
        engine: ort.InferenceSession,
        lane: OrtLane,
        execution: Execution,
        compiled: Compiled | None,
        cards: int = 1,
    ) -> None:
        super().__init__(engine, (lane,), execution)
        self._compiled = None if execution.elsewhere else compiled
        self._cards = cards
        self._idle_us = 0.0
        if self._compiled is not None:
            self.execution = replace(self.execution, facts=_facts(self._compiled, 0.0, cards))

    def simulate(self, arrivals: Arrivals, rng: np.random.Generator) -> Samples:
        if self._compiled is None:
            raise RunFault(
                "part of the graph runs elsewhere, so the card has no latency for it",
                "use a graph that the card takes whole",
            )
        if not isinstance(arrivals, Scheduled):
            overlapping = isinstance(arrivals, Queries)
            self._idle_us = 0.0 if isinstance(arrivals, Queries) else arrivals.gap_ns / 1e3
            facts = _facts(self._compiled, self._idle_us, self._cards, overlapping=overlapping)
            self.execution = replace(self.execution, facts=facts)
        return simulate(self._compiled, arrivals, rng, self._cards)

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        """From the schedule, whatever `runs` is: each request takes the same cycles."""
        if self._compiled is None:
            return super().operator_times(runs)
        return op_times(self._compiled, self._idle_us)


def _facts(
    compiled: Compiled, idle_us: float, cards: int, *, overlapping: bool = False
) -> dict[str, float | int | str]:
    """The row's columns for requests that arrive `idle_us` after the last was finished."""
    schedule = compiled.scheduler.after_idle(idle_cycles(compiled, idle_us))
    trust = fidelity(compiled, idle_us, overlapping=overlapping or cards > 1)
    return {
        "cycles": schedule.cycles,
        "io_us": round(io_us(compiled), 6),
        "weight_tiles_used": compiled.placement.used,
        "weight_tiles_total": compiled.placement.total,
        "activation_bytes": compiled.memory.peak_bytes,
        "spilled_bytes": compiled.memory.spilled_bytes,
        "fidelity": trust.word,
        "fidelity_reason": trust.reason,
        "card_release": compiled.release.name,
    }
