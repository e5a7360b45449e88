"""The sizes and the weights of the contract's graphs, by numpy alone."""

from __future__ import annotations

import numpy as np

CHANNELS, OUTPUTS, WORDS = 4, 3, 7


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal float32 numbers, the same in every process."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
