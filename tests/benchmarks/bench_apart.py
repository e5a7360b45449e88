"""Runs that were made apart: wrong verdicts on simulated machines, and histories of a machine that
is rebooted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain

import numpy as np

from app.stats.change_points import change_points, common_factor
from app.stats.verdict import STATED, RunVariation
from tests.simulated.histories import boots, machine_history
from tests.simulated.runs import called, past_of

DEVIATIONS = (0.01, 0.03, 0.05, 0.1)
ROUNDS = (4, 8, 16, 64)
PAST_RUNS = (3, 6, 12)
TRIES = 1000
HISTORIES = 200
RUNS = 40


def wrong(deviation: float, rounds: int, past_runs: int | None, change: float = 0.0) -> float:
    """In which share of tries the second of two runs is called faster or slower."""
    rng = np.random.default_rng(round(1000 * deviation) + rounds)
    count = 0
    for _ in range(TRIES):
        variation: RunVariation | None = STATED
        if past_runs is not None:
            variation = past_of(rng, deviation, rounds, past_runs) if past_runs else None
        count += called(rng, deviation, rounds, variation, change)
    return count / TRIES


def simulated() -> Iterator[str]:
    yield "runs of the same code, called faster or slower, %: 4, 8, 16, 64 rounds of 3 %"
    yield ""
    heads = " | ".join(f"history of {past_runs}" for past_runs in PAST_RUNS)
    yield f"| runs differ by | rounds alone | stated | {heads} |"
    yield "| --- |" + " --- |" * (2 + len(PAST_RUNS))
    for deviation in DEVIATIONS:
        cells = [
            ", ".join(f"{100 * wrong(deviation, rounds, past_runs):.1f}" for rounds in ROUNDS)
            for past_runs in (0, None, *PAST_RUNS)
        ]
        yield f"| {100 * deviation:g} % | {' | '.join(cells)} |"
    yield ""
    yield "a slowdown found, %, 8 rounds, runs differ by 1 %"
    yield ""
    yield f"| slower by | stated | {heads} |"
    yield "| --- |" + " --- |" * (1 + len(PAST_RUNS))
    for change in (0.05, 0.1, 0.15, 0.2, 0.3):
        cells = [
            f"{100 * wrong(0.01, 8, past_runs, change):.0f}" for past_runs in (None, *PAST_RUNS)
        ]
        yield f"| {100 * change:g} % | {' | '.join(cells)} |"


def history(series: int, sharing: float, with_factor: bool) -> tuple[float, float, float]:
    """Of histories of a machine that is booted every 4 to 12 runs, in which share an unchanged
    series shows a change, the slowdown of one is found, and the machine shows a change."""
    rng = np.random.default_rng(series)
    alarms = detections = machine = 0
    for _ in range(HISTORIES):
        figures = machine_history(
            rng, boots(rng, RUNS), series, slower=slice(30, RUNS), change=0.05, sharing=sharing
        )
        logs = np.log(np.array(figures))
        factor = common_factor(logs) if with_factor else None
        if factor is not None:
            machine += bool(change_points([np.exp(factor).tolist()])[0])
            logs = logs - factor
        changes = change_points(np.exp(logs).tolist())
        alarms += any(changes[1:])
        detections += any(abs(change.place - 30) <= 1 for change in changes[0])
    return alarms / HISTORIES, detections / HISTORIES, machine / HISTORIES


def histories() -> Iterator[str]:
    yield f"histories of {RUNS} runs that differ by 1 %, boots of 1.5 %, %: alarms of unchanged"
    yield "series, a slowdown of 5 % of one found in its place, changes of the machine"
    yield ""
    yield (
        "| series | as measured | shared part removed | shared part removed, each case affected "
        "differently by a boot (standard deviation 0.3) |"
    )
    yield "| --- | --- | --- | --- |"
    for series in (2, 3, 5, 20):
        cells = [
            ", ".join(f"{100 * share:.0f}" for share in history(series, sharing, with_factor))
            for sharing, with_factor in ((0.0, False), (0.0, True), (0.3, True))
        ]
        yield f"| {series} | {' | '.join(cells)} |"


def main() -> None:
    """Markdown tables, in percent."""
    parts = (simulated(), histories())
    for line in chain.from_iterable((*part, "") for part in parts):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
