"""The streaming step of the graphs, run on from its own state."""

from __future__ import annotations

import numpy as np

from app.contract.graphs import CHANNELS, STEPS, streamed
from runtimes.base import Lane


def streams(lane: Lane, atol: float = 1e-5) -> bool:
    """Whether a lane of it that begins without a past tells what the whole sequence gives."""
    zero, x = np.zeros((1, CHANNELS), np.float32), np.ones((1, CHANNELS), np.float32)
    lane.bind({"x": x, "h": zero, "older": zero})
    results = []
    for _ in range(STEPS):
        lane.run()
        results.append(lane.outputs()["y"])
        lane.advance()
    return np.allclose(results, streamed(np.stack([x] * STEPS)), atol=atol)
