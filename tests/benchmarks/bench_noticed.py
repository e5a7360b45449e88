"""How often levels, stalls and differences are told where none are, and found where some are.

Each figure is of so many cases of four rounds, by the runs of a round.
"""

from __future__ import annotations

import numpy as np

from app.cases.case import Case
from app.insights.rules import find_insights
from app.stats.patterns import Timed, consensus_modes, modes, stalls
from app.stats.verdict import binomial_interval
from tests.app.comparison.drawn import EQUAL, drawn_row
from tests.simulated.levels import ONE_LEVEL, TWO_LEVELS, Draw, back_to_back, with_stalls

CASES, ROUNDS = 400, 4
RUNS_OF_ROWS = 1_000
DIFFERENCES = {"precision", "threads", "best"}
RUNS = (1_000, 5_000, 20_000)
STALLS = ((200.0, 4_000.0), (8_000.0, 40_000.0), (100.0, 1_000.0))
"""How long they take and how far apart they come, in microseconds."""


def main() -> None:
    """Three tables."""
    for title, streams in (("one level", ONE_LEVEL), ("two levels", TWO_LEVELS)):
        print(f"{title}: share of cases of which two levels, and stalls, were told")
        for name, draw in streams.items():
            print(f"  {name:32}", *(_line(draw, runs) for runs in RUNS))
    print("stalls at a beat, in lognormal noise of 5 %: share found, and the period's error")
    for stall_us, period_us in STALLS:
        print(f"  {stall_us:g} us every {period_us:g} us", _find_stalls(stall_us, period_us))
    print("twelve equal cases of four rounds that differ by so much: runs that tell a difference")
    print(" ", *(f"{spread:.0%}: {_wrongly(spread):.1%} " for spread in (0.01, 0.03, 0.1)))
    print(
        "int8 that takes so many times as long as fp32, where rounds differ by 2 and by 5 %: told"
    )
    for times in (1.1, 1.25, 1.5):
        print(
            f"  {times:g}", *(f"{_precision_share(times, spread):.0%}" for spread in (0.02, 0.05))
        )


def _line(draw: Draw, runs: int) -> str:
    rng = np.random.default_rng(runs)
    two = beat = 0
    for _ in range(CASES):
        rounds = [_timed(draw(rng, runs)) for _ in range(ROUNDS)]
        two += (
            consensus_modes([modes(latencies.latency, latencies.ascending) for latencies in rounds])
            is not None
        )
        beat += stalls(rounds) is not None
    most = binomial_interval(two, CASES).high
    return f"{runs:7,d}: {two / CASES:6.1%} (to {most:.1%}) {beat / CASES:6.1%}"


def _find_stalls(stall_us: float, period_us: float) -> str:
    rng = np.random.default_rng(int(period_us))
    told = []
    for runs in RUNS:
        errors = []
        for _ in range(CASES):
            plain = [25.0 * np.exp(0.05 * rng.standard_normal(runs)) for _ in range(ROUNDS)]
            found = stalls([_timed(with_stalls(rng, one, stall_us, period_us)) for one in plain])
            if found is not None:
                errors.append(abs(found.period_ns / 1e3 / period_us - 1.0))
        error = f"{np.median(errors):.1%}" if errors else "-"
        told.append(f"{runs:,d}: {len(errors) / CASES:.0%} ({error})")
    return "  ".join(told)


def _wrongly(spread: float) -> float:
    rng = np.random.default_rng(99)
    false = 0
    for _ in range(RUNS_OF_ROWS):
        insights = find_insights([drawn_row(case, 50.0, spread, rng) for case in EQUAL])
        false += bool(DIFFERENCES & {insight.kind for insight in insights})
    return false / RUNS_OF_ROWS


def _precision_share(times: float, spread: float) -> float:
    rng = np.random.default_rng(98)
    plain, narrow = Case("mlp", "ort-cpu"), Case("mlp", "ort-cpu", precision="int8")
    told = 0
    for _ in range(CASES):
        rows = [drawn_row(plain, 40.0, spread, rng), drawn_row(narrow, 40.0 * times, spread, rng)]
        told += "precision" in {one.kind for one in find_insights(rows)}
    return told / CASES


def _timed(latency_us: np.ndarray) -> Timed:
    return Timed(*back_to_back(latency_us), latency_us, np.sort(latency_us))


if __name__ == "__main__":
    main()
