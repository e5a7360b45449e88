"""Mean waits of 2,000,000 arrivals on the virtual clock, beside those of the formulas."""

from __future__ import annotations

import sys

from app.stats.queueing import served
from tests.simulated.queues import (
    UTILISATIONS,
    constant,
    crommelin_ns,
    exponential,
    poisson,
    pollaczek_khinchine_ns,
)

COUNT = 2_000_000
SEEDS = (0, 1, 2, 3)


def main() -> None:
    """A Markdown table: by how much each seed's mean wait is off, in percent."""
    heads = " | ".join(f"seed {seed}" for seed in SEEDS)
    sys.stdout.write(f"| queue | utilisation | formula | {heads} |\n")
    sys.stdout.write("| --- |" + " --- |" * (len(SEEDS) + 2) + "\n")
    for utilisation in UTILISATIONS:
        markov = pollaczek_khinchine_ns(utilisation, 1.0)
        one, two = pollaczek_khinchine_ns(utilisation, 0.0), crommelin_ns(utilisation, 2)
        for name, formula_ns, servers in (
            ("M/M/1", markov, 1),
            ("M/D/1", one, 1),
            ("M/D/2", two, 2),
        ):
            sys.stdout.write(f"| {name} | {utilisation} | {formula_ns / 1e6:.4f} ms |")
            for seed in SEEDS:
                arrivals = poisson(utilisation, servers, COUNT, seed)
                drawn = exponential(COUNT, seed + 100) if name == "M/M/1" else constant(COUNT)
                wait_ns = served(arrivals, drawn, servers).queue_ns.mean()
                sys.stdout.write(f" {100 * (wait_ns / formula_ns - 1):+.2f} |")
                sys.stdout.flush()
            sys.stdout.write("\n")
