"""Queues on the virtual clock beside their formulas: mean waits, and the p99 of short rounds."""

from __future__ import annotations

import sys

import numpy as np

from app.cases.round import Limits
from app.cases.scenario import Scenario
from app.workers.open_loop import timed_schedule
from tests.simulated.queues import (
    SERVICE_NS,
    UTILISATIONS,
    constant,
    crommelin_ns,
    exponential,
    poisson,
    pollaczek_khinchine_ns,
    simulate_queue,
)

COUNT = 2_000_000
SEEDS = (0, 1, 2, 3)
P99 = 22.897
"""Services that a request of M/D/1 at 0.9 takes, by the distribution of A. K. Erlang, 1909."""
RUNS, ROUNDS = 200, 8


def main() -> None:
    """Two Markdown tables: by how much each seed's mean wait of 2,000,000 arrivals is off, in
    percent, and what rounds of M/D/1 at 0.9 show of its tail, without a start and with one."""
    _mean_waits()
    tails()


def _mean_waits() -> None:
    heads = " | ".join(f"seed {seed}" for seed in SEEDS)
    sys.stdout.write(f"| queue | utilisation | formula | {heads} |\n")
    sys.stdout.write("| --- |" + " --- |" * (len(SEEDS) + 2) + "\n")
    for utilisation in UTILISATIONS:
        markov = pollaczek_khinchine_ns(utilisation, 1.0)
        single_ns, two = pollaczek_khinchine_ns(utilisation, 0.0), crommelin_ns(utilisation, 2)
        for name, formula_ns, servers in (
            ("M/M/1", markov, 1),
            ("M/D/1", single_ns, 1),
            ("M/D/2", two, 2),
        ):
            sys.stdout.write(f"| {name} | {utilisation} | {formula_ns / 1e6:.4f} ms |")
            for seed in SEEDS:
                arrivals = poisson(utilisation, servers, COUNT, seed)
                service_ns = exponential(COUNT, seed + 100) if name == "M/M/1" else constant(COUNT)
                wait_ns = simulate_queue(arrivals, service_ns, servers).queue_ns.mean()
                sys.stdout.write(f" {100 * (wait_ns / formula_ns - 1):+.2f} |")
                sys.stdout.flush()
            sys.stdout.write("\n")


def tails() -> None:
    """The share of requests beyond the true p99, and the p99 of runs of eight rounds: the geometric
    mean of the rounds' own, and that of all requests together."""
    sys.stdout.write("\n| M/D/1 at 0.9, rounds of | start | beyond p99 | of rounds | of all |\n")
    sys.stdout.write("| --- " * 5 + "|\n")
    scenario = Scenario("poisson", rate_hz=0.9e9 / SERVICE_NS)
    for requests in (1_000, 3_000, 10_000, 40_000):
        limits = Limits(min_s=0.0, max_s=1e9, min_samples=requests)
        for name, capacity_hz in (("empty", 0.0), ("discarded", 1e9 / SERVICE_NS)):
            shares, typical, pooled_p99 = [], [], []
            for run in range(RUNS):
                rounds = []
                for number in range(ROUNDS):
                    seed = ROUNDS * run + number
                    schedule = timed_schedule(scenario, limits, seed, None, capacity_hz)
                    samples = simulate_queue(
                        schedule.offsets_ns, constant(len(schedule.offsets_ns))
                    )
                    rounds.append(samples.latency_ns[schedule.start_requests :] / SERVICE_NS)
                shares.append(np.mean([np.mean(latencies > P99) for latencies in rounds]))
                typical.append(
                    np.exp(np.mean([np.log(np.quantile(latencies, 0.99)) for latencies in rounds]))
                )
                pooled_p99.append(np.quantile(np.concatenate(rounds), 0.99))
            sys.stdout.write(
                f"| {requests:,} | {name} | {100 * np.mean(shares):.2f} % "
                f"| {100 * (np.mean(typical) / P99 - 1):+.1f} % "
                f"| {100 * (np.mean(pooled_p99) / P99 - 1):+.1f} % |\n"
            )
            sys.stdout.flush()
