"""The lanes of a session in threads of their own as the measuring process runs them, and one that
streams on from its own state."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from app.contract.graphs import CHANNELS, STEPS, streamed
from runtimes.base import Lane, Session


def bind_apart(session: Session) -> np.ndarray:
    """Bind another `x` [lanes, 1, channels] to each lane of a streaming step, without a past."""
    shape = (len(session.lanes), 1, CHANNELS)
    inputs = np.random.default_rng(5).standard_normal(shape, np.float32)
    zero = np.zeros((1, CHANNELS), np.float32)
    for lane, x in zip(session.lanes, inputs, strict=True):
        lane.bind({"x": x, "h": zero, "older": zero})
    return inputs


def run_all_at_once(session: Session, runs: int, streaming: bool = False) -> list[np.ndarray]:
    """Each lane's outputs `y` [runs, ...], every lane run by a thread of its own."""
    gate = threading.Barrier(len(session.lanes), timeout=60)

    def serve(lane: Lane) -> np.ndarray:
        lane.enter()
        results = []
        gate.wait()
        for _ in range(runs):
            lane.run()
            results.append(lane.outputs()["y"])
            if streaming:
                lane.advance()
        return np.array(results)

    with ThreadPoolExecutor(len(session.lanes)) as threads:
        return list(threads.map(serve, session.lanes))


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
