"""The harness's own floor: what the timed loop reports for a call that does nothing."""

from __future__ import annotations

from functools import partial

import numpy as np

from app.workers.loop import WAIT, Block, run_block
from app.workers.timing import Loop
from runtimes.calls.timed import TimedCalls, nothing

_ITERATIONS = 4000


def harness_floor_ns(loop: Loop) -> float:
    """The median of 4,000 timed empty calls, which Python enters as engines: through a partial."""
    block = Block(_ITERATIONS)
    for _ in range(2):
        if loop == "C":
            calls = TimedCalls((nothing(),))
            calls.time(block.scheduled, block.started, block.finished, _ITERATIONS)
        else:
            run_block(block, _ITERATIONS, partial(int), None, 0, WAIT["spin"])
    records = block.records(_ITERATIONS, 0)
    return float(np.median(records["finished_ns"] - records["started_ns"]))
