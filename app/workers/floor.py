"""The harness's own floor: what the timed loop reports for a call that does nothing."""

from __future__ import annotations

from functools import partial

import numpy as np

from app.workers.loop import WAIT, Block, run_block

_ITERATIONS = 4000


def harness_floor_ns() -> float:
    """The median of 4,000 timed empty calls, entered as engines are: through a partial."""
    block = Block(_ITERATIONS)
    for _ in range(2):
        run_block(block, _ITERATIONS, partial(int), None, 0, WAIT["spin"])
    records = block.records(_ITERATIONS, 0)
    return float(np.median(records["finished_ns"] - records["started_ns"]))
