"""The slots of a session in threads of their own, as the measuring process runs them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from runtimes.base import Session
from tests.runtimes.torch_factories import CHANNELS


def bind_apart(session: Session) -> np.ndarray:
    """Bind another `x` [slots, 1, channels] to each slot of a streaming step, without a past."""
    inputs = np.random.default_rng(5).standard_normal((session.slots, 1, CHANNELS), np.float32)
    zero = np.zeros((1, CHANNELS), np.float32)
    for slot, x in enumerate(inputs):
        session.bind({"x": x, "h": zero, "older": zero}, slot)
    return inputs


def run_all_at_once(session: Session, runs: int, streaming: bool = False) -> list[np.ndarray]:
    """Each slot's outputs `y` [runs, ...], every slot run by a thread of its own."""
    gate = threading.Barrier(session.slots, timeout=60)

    def serve(slot: int) -> np.ndarray:
        session.enter(slot)
        run, results = session.run_of(slot), []
        gate.wait()
        for _ in range(runs):
            run()
            results.append(session.outputs(slot)["y"])
            if streaming:
                session.advance_state(slot)
        return np.array(results)

    with ThreadPoolExecutor(session.slots) as threads:
        return list(threads.map(serve, range(session.slots)))
