"""A slowdown of about 5 %: how many pairs of rounds find it, and whether a run foretells that.

A graph of 20 equal layers and one of 21 are measured once in 120 pairs; comparisons of so many
pairs are then drawn from these. The change that nine of ten find should be the one that
`smallest_change` told beforehand from the spread alone.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from app.results.measured import COMPARED, Measured
from app.results.reader import read_run
from app.results.rows import Rows
from app.stats.verdict import FOUND, difference, judge, smallest_change
from tests.layers import write_layers

PAIRS = 120
DRAWS = 500
ROUNDS = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def main() -> None:
    """Measure and tell, for the p50 and the p99."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = measured(Path(folder))
    for name in COMPARED:
        sys.stdout.write("\n".join(told(before, after, name)) + "\n")


def measured(folder: Path) -> tuple[Measured, Measured]:
    """The two graphs in one run, their rounds in turn."""
    paths = [folder / f"{layers}.onnx" for layers in (20, 21)]
    for path, layers in zip(paths, (20, 21), strict=True):
        write_layers(path, layers)
    command = [sys.executable, "-m", "app", "--headless", "--runtimes", "ort-cpu"]
    command += ["--models", ",".join(map(str, paths)), "--baseline", str(paths[0])]
    command += ["--profile", "glance", "--rounds", str(PAIRS), "--out", str(folder / "run")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before, after = Rows().measured(read_run(folder / "run"))
    return before, after


def told(before: Measured, after: Measured, name: str) -> list[str]:
    """A line for each number of rounds, and the two that should agree."""
    first, second = before.by_round(name), after.by_round(name)
    both = [number for number in first if number in second]
    logs = np.array([math.log(second[n] / first[n]) for n in both])
    change, spread = math.expm1(logs.mean()), float(logs.std(ddof=1))
    lines = [f"{name}: slower by {change:.1%} over {len(both)} pairs, which spread by {spread:.1%}"]
    rng = random.Random(1)
    for rounds in (rounds for rounds in ROUNDS if rounds <= len(both) // 2):
        found = 0
        for _ in range(DRAWS):
            drawn = rng.sample(both, rounds)
            one = difference([first[n] for n in drawn], [second[n] for n in drawn], in_turn=True)
            found += judge([one])[0].word == "slower"
        least = smallest_change(spread / math.sqrt(rounds), rounds - 1)
        lines.append(f"  {rounds:3} rounds: found in {found / DRAWS:4.0%}, foretold {least:.1%}")
        if found / DRAWS >= FOUND or least <= change:
            lines[-1] += "  <- " + ", ".join(
                word
                for word, holds in (
                    ("nine of ten find it", found / DRAWS >= FOUND),
                    ("foretold that they would", least <= change),
                )
                if holds
            )
    return lines


if __name__ == "__main__":
    main()
