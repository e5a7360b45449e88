"""How late this program begins runs: after a pause, and in an open loop, in either loop by policy.

The gap of a paced loop is to be within 1 us of the one asked for, at the median and spinning; of
an open loop what its rows call lateness is told beside the latency, of one lane and of two.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

import numpy as np

from app.cases.round import Limits
from app.cases.scenario import Scenario, WaitPolicy
from app.run_folder.run import as_samples
from app.stats.open_loop import lateness_ns
from exporters.types import ExportedModel
from runtimes.options import OptionValue
from tests.benchmarks.pairs import PAIRS
from tests.benchmarks.rounds import export, sample

AXES = {"batch": 1}
LIMITS = Limits(min_s=1.0, max_s=2.0, min_samples=300, warmup_min_s=0.2, warmup_max_s=1.0)
POLICIES: tuple[WaitPolicy, ...] = ("spin", "hybrid", "sleep")
GAP, RATES = "paced:200us", ("rate:1000/s", "poisson:1000/s")
CLAIM_US = 1.0


def main() -> None:
    model, rounds = export("mlp", AXES), PAIRS or 5
    _say(f"mlp on ort-cpu, {rounds} rounds each: lateness in us at p50 and p99, medians of rounds")
    ways: list[tuple[str, dict[str, OptionValue]]] = [
        ("C", {"call": "c"}),
        ("Python", {"call": "python"}),
        ("C, two lanes", {"call": "c", "sessions": 2}),
    ]
    for loop, options in ways:
        for policy in POLICIES:
            for scenario in (GAP, *RATES):
                results = [_round(model, scenario, policy, options) for _ in range(rounds)]
                _tell(f"{loop:12} {policy:6} {scenario:14}", scenario, policy, results)


def _round(
    model: ExportedModel, scenario: str, policy: WaitPolicy, options: dict[str, OptionValue]
) -> tuple[float, float, float]:
    """Lateness at p50 and p99 and latency at p50, in us."""
    load = Scenario.parse(scenario)
    result, records = sample(
        model, AXES, limits=LIMITS, scenario=load, options=options, wait_policy=policy
    )
    if result.status != "ok":
        raise RuntimeError(result.reason)
    samples = as_samples(records, "wall", load.is_open_loop)
    late_ns = lateness_ns(samples) if load.is_open_loop else samples.queue_ns
    p50, p99 = np.quantile(late_ns, (0.5, 0.99)) / 1e3
    return float(p50), float(p99), float(np.median(samples.latency_ns)) / 1e3


def _tell(
    title: str, scenario: str, policy: WaitPolicy, results: Sequence[tuple[float, float, float]]
) -> None:
    p50, p99, latency = (statistics.median(values) for values in zip(*results, strict=True))
    claim = ""
    if scenario == GAP and policy == "spin":
        claim = f"  within {CLAIM_US:g} us at p50: {'yes' if p50 <= CLAIM_US else 'NO'}"
    _say(f"{title} late {p50:9.2f} {p99:10.2f}  latency {latency:9.2f}{claim}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
