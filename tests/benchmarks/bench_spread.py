"""What eight rounds hold of half an hour, over a short time and over a longer one beside load."""

from __future__ import annotations

import sys

import numpy as np

from app.plan.plan import named_lengths
from tests.benchmarks.stretches import contains, schedule_choices
from tests.simulated.loads import LOADS, loaded_run

FIGURES = ("p50", "p99", "mean")
ROUNDS = 8
RUNS = 60


def coverage(name: str, contended_s: float, runs: int = RUNS) -> tuple[dict[str, float], float]:
    """By figure, in which share of choices from so many runs the interval contains that of the
    whole run; and the median time between the first and the last round."""
    rng, spread_s = np.random.default_rng(len(name)), named_lengths()["standard"].spread_s
    hits: dict[str, list[bool]] = {figure: [] for figure in FIGURES}
    spans_s = []
    for _ in range(runs):
        run = loaded_run(rng, LOADS[name])
        choices = list(schedule_choices(run, ROUNDS, spread_s, contended_s))
        for place in rng.integers(0, len(choices), 5).tolist():
            rounds = choices[place]
            spans_s.append(float(run.begun_s[rounds[-1]] - run.begun_s[rounds[0]]))
            for figure in FIGURES:
                hits[figure] += [contains(run, case, figure, rounds) for case in run.cases]
    return {figure: float(np.mean(hit)) for figure, hit in hits.items()}, float(np.median(spans_s))


def main() -> None:
    """A Markdown table, in percent."""
    lengths = named_lengths()["standard"]
    sys.stdout.write("| machine | 2 min: p50, p99, mean | `standard` | takes |\n")
    sys.stdout.write("| --- | --- | --- | --- |\n")
    for name in LOADS:
        short, _ = coverage(name, 0.0)
        standard, span_s = coverage(name, lengths.contended_spread_s)
        cells = [
            ", ".join(f"{100 * shares[figure]:.0f}" for figure in FIGURES)
            for shares in (short, standard)
        ]
        sys.stdout.write(f"| {name} | {' | '.join(cells)} | {span_s / 60:.0f} min |\n")
        sys.stdout.flush()
