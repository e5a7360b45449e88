"""How often a machine with long memory is found: by one case's rounds, and by several cases.

The best test of one case that is possible is there too: the likelihood ratio of fractional
Gaussian noise of this exponent against independent rounds, with 5 % false alarms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import numpy as np

from app.stats.intervals import round_correlation
from app.stats.patterns import concordance
from tests.simulated.machines import fractional_noise

ROUNDS = (5, 8, 16)
TRIES = 1000
_HURST, _WANDERING = 0.9, 0.02
_OWN_SPREAD = 0.01
_CASES = (2, 4, 8)


def _wanders(rng: np.random.Generator, rounds: int) -> np.ndarray:
    return _WANDERING * fractional_noise(rng, rounds, _HURST)


def _heats_up(rng: np.random.Generator, rounds: int) -> np.ndarray:
    """6 % slower in the end, with a time constant of a fifth to all of the run."""
    passed = (np.arange(rounds) + rng.random()) / rounds
    return 0.06 * (1.0 - np.exp(-passed / rng.uniform(0.2, 1.0)))


def _governed(rng: np.random.Generator, rounds: int) -> np.ndarray:
    """Two clocks, 25 % apart, each kept for three passes in the mean."""
    return 0.22 * (np.cumsum(rng.random(rounds) < 0.3) % 2)


def _still(_: np.random.Generator, rounds: int) -> np.ndarray:
    return np.zeros(rounds)


_MACHINES: Mapping[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "wanders": _wanders,
    "heats up": _heats_up,
    "changes its clock": _governed,
    "stays": _still,
}


def main() -> None:
    """Two Markdown tables, in percent."""
    sys.stdout.write(
        f"{TRIES} runs, H = {_HURST}, deviation {100 * _WANDERING:g} %: in how many, in %, one "
        "case is marked `rounds_correlated`, and the best possible test finds it; in brackets for "
        "independent rounds\n\n| rounds | marked | best possible |\n| --- | --- | --- |\n"
    )
    rng = np.random.default_rng(1)
    for rounds in ROUNDS:
        wandering = np.array([fractional_noise(rng, rounds, _HURST) for _ in range(TRIES)])
        independent = rng.standard_normal((TRIES, rounds))
        marks = [
            100
            * np.mean([round_correlation(np.exp(_WANDERING * row)).is_significant for row in rows])
            for rows in (wandering, independent)
        ]
        limit = np.quantile(_likelihood(rng.standard_normal((20_000, rounds))), 0.95)
        best = 100 * np.mean(_likelihood(wandering) > limit)
        cells = f"{marks[0]:.0f} ({marks[1]:.0f}) | {best:.0f} (5)"
        sys.stdout.write(f"| {rounds} | {cells} |\n")
    sys.stdout.write(
        "\nnoticed by cases that are slow in the same passes, by 0.8 to 1.2 times what the machine "
        f"changes by, and whose processes differ by {100 * _OWN_SPREAD:g} % besides\n\n"
    )
    heads = [f"{cases} cases, {rounds} rounds" for rounds in (5, 8) for cases in _CASES]
    sys.stdout.write(f"| machine | {' | '.join(heads)} |\n")
    sys.stdout.write("| --- |" + " --- |" * len(heads) + "\n")
    for name, levels in _MACHINES.items():
        shares = [
            f"{100 * _detection_share(rng, cases, rounds, levels):.0f}"
            for rounds in (5, 8)
            for cases in _CASES
        ]
        sys.stdout.write(f"| {name} | {' | '.join(shares)} |\n")


def _detection_share(
    rng: np.random.Generator,
    cases: int,
    rounds: int,
    levels: Callable[[np.random.Generator, int], np.ndarray],
) -> float:
    found = 0
    for _ in range(TRIES):
        own = _OWN_SPREAD * rng.standard_normal((cases, rounds))
        shared = rng.uniform(0.8, 1.2, (cases, 1)) * levels(rng, rounds)
        one = concordance(np.exp(shared + own).tolist())
        found += one is not None and one.is_significant
    return found / TRIES


def _likelihood(logs: np.ndarray) -> np.ndarray:
    """Rises with the likelihood ratio, whatever the mean and the scale of each row [tries, n]."""
    rounds = logs.shape[1]
    lags = np.abs(np.subtract.outer(np.arange(rounds), np.arange(rounds))).astype(float)
    power = 2 * _HURST
    covariance = 0.5 * ((lags + 1) ** power - 2 * lags**power + np.abs(lags - 1) ** power)
    centring = np.eye(rounds) - 1.0 / rounds
    inverse = np.linalg.pinv(centring @ covariance @ centring)
    deviations = logs - logs.mean(axis=1, keepdims=True)
    ratio: np.ndarray = -np.einsum("ij,jk,ik->i", deviations, inverse, deviations) / np.square(
        deviations
    ).sum(axis=1)
    return ratio


if __name__ == "__main__":
    main()
