"""A slowdown of about 5 %: how many pairs of rounds find it, and whether a run foretells that.

A graph of 20 equal layers and one of 21 are measured once in 120 pairs; comparisons of so many
pairs are then drawn from these. The slowdown that nine of ten find, put on rounds whose own is
taken out, should be the one that `smallest_change` tells from the spread alone.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from app.columns.rows import Rows
from app.comparison.measured_case import COMPARED, MeasuredCase
from app.runs.reader import read_run
from app.stats.verdict import FOUND, difference, judge, smallest_change
from tests.layers import write_layers

PAIRS = 120
DRAWS = 500
ROUNDS = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def main() -> None:
    """Measure and tell, for the p50 and the p99."""
    with tempfile.TemporaryDirectory() as folder:
        first_row, second_row = measured(Path(folder))
    for name in COMPARED:
        sys.stdout.write("\n".join(told(first_row, second_row, name)) + "\n")


def measured(folder: Path) -> tuple[MeasuredCase, MeasuredCase]:
    """The two graphs in one run, their rounds in turn."""
    paths = [folder / f"{layers}.onnx" for layers in (20, 21)]
    for path, layers in zip(paths, (20, 21), strict=True):
        write_layers(path, layers)
    command = [sys.executable, "-m", "app", "--headless", "--runtimes", "ort-cpu"]
    command += ["--models", ",".join(map(str, paths)), "--baseline", str(paths[0])]
    command += ["--preset", "glance", "--rounds", str(PAIRS), "--out", str(folder / "run")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    first_row, second_row = Rows().measured(read_run(folder / "run"))
    return first_row, second_row


def told(first_row: MeasuredCase, second_row: MeasuredCase, name: str) -> list[str]:
    """A line for each number of rounds: what is found, and how that was foretold."""
    first, second = first_row.by_round(name), second_row.by_round(name)
    both = [number for number in first if number in second]
    logs = np.array([math.log(second[n] / first[n]) for n in both])
    change, spread = math.expm1(logs.mean()), float(logs.std(ddof=1))
    lines = [f"{name}: slower by {change:.1%} over {len(both)} pairs, which spread by {spread:.1%}"]
    rng = np.random.default_rng(1)
    for rounds in ROUNDS:
        draws = rng.choice(logs, (DRAWS, rounds))
        nine_of_ten = _found_by_nine_of_ten(draws - logs.mean())
        foretold = smallest_change(spread / math.sqrt(rounds), rounds - 1)
        lines.append(
            f"  {rounds:3} rounds find it in {_power(draws):4.0%}; in nine of ten "
            f"{nine_of_ten:.1%}, foretold {foretold:.1%}"
        )
    return lines


def _power(draws: np.ndarray) -> float:
    """The share of comparisons, a row each of logarithms of ratios, that say slower."""
    words = [
        judge([difference(np.ones(len(logs)).tolist(), np.exp(logs).tolist(), in_turn=True)])
        for logs in draws
    ]
    return sum(verdict.word == "slower" for (verdict,) in words) / len(draws)


def _found_by_nine_of_ten(centred_values: np.ndarray) -> float:
    """The least slowdown, as a share, that so many find when it is put on rounds without one."""
    low, high = 0.0, 5.0
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (low, middle) if _power(centred_values + middle) >= FOUND else (middle, high)
    return math.expm1(high)


if __name__ == "__main__":
    main()
