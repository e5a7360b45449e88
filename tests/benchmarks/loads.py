"""Runs of half an hour beside other work that changes over minutes, as recorded runs have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from app.analysis.columns.environment import SWITCHES_PER_S
from tests.benchmarks.stretches import Recording

PASSES, GAP_S = 180, 10.0
_NOISE = 0.03
"""What the processes of a case differ by."""
_SENSITIVITY = {"p50": 0.1, "p99": 2.0, "mean": 1.0}
"""How much of the core that is lost each figure shows, on its logarithm."""

Load = Callable[[np.random.Generator], np.ndarray]
"""The share of the core that other work takes in each pass."""


def _come_and_go(rng: np.random.Generator) -> np.ndarray:
    """Another program runs for some minutes at a time."""
    ends = np.cumsum(rng.exponential(240.0, 64))
    is_busy = (np.searchsorted(ends, GAP_S * np.arange(PASSES)) + rng.integers(2)) % 2
    return np.where(is_busy, 0.4, 0.05)


def _wander(rng: np.random.Generator) -> np.ndarray:
    """An autoregressive process with a correlation time of five minutes."""
    keep = float(np.exp(-GAP_S / 300.0))
    level = rng.standard_normal(PASSES)
    for number in range(1, PASSES):
        level[number] = keep * level[number - 1] + np.sqrt(1.0 - keep**2) * level[number]
    return 1.0 / (1.0 + np.exp(1.5 - level))


def _rise(rng: np.random.Generator) -> np.ndarray:
    """A job begins, and more of them follow until the end."""
    steps = np.sort(rng.uniform(0.0, PASSES, 6))
    return 0.03 + 0.08 * np.searchsorted(steps, np.arange(PASSES))


LOADS: Mapping[str, Load] = {
    "quiet": lambda rng: np.zeros(PASSES),
    "another program comes and goes": _come_and_go,
    "load wanders": _wander,
    "load rises": _rise,
}


def loaded_run(rng: np.random.Generator, load: Load, cases: int = 2) -> Recording:
    """One run of so many cases."""
    shares = load(rng)
    loss = -np.log1p(-shares)
    figures = {}
    for case in range(cases):
        figures_of_case = {
            name: 100.0 * np.exp(factor * loss + _NOISE * rng.standard_normal(PASSES))
            for name, factor in _SENSITIVITY.items()
        }
        switches = rng.poisson(20.0 * SWITCHES_PER_S * shares).astype(float)
        figures[f"case {case}"] = {
            **figures_of_case, "switches_per_s": switches, "steal_fraction": np.zeros(PASSES)
        }  # fmt: skip
    return Recording(figures, GAP_S * np.arange(PASSES))
