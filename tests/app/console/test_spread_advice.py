"""When a run advises to spread its rounds: wide intervals of rounds within a short time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cases.telemetry import Interference
from app.columns.rows import Rows
from app.console.run_summary import ADVISED, ADVISED_CONTENDED, SHORT_S, spread_advice
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.intervals import CLOSE_CONTENDED_S
from app.stats.required_rounds import MAXIMUM_ROUNDS
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record


def advice(path: Path, logs: list[float], span_s: float, switches: int = 0) -> str:
    """Of rounds whose medians have these logarithms, begun over so many seconds."""
    rng = np.random.default_rng(1)
    with RunFolder.create(path, manifest_of((CASE,), len(logs))) as folder:
        folder.begin(ENVIRONMENT)
        for number, log in enumerate(logs):
            second = span_s * number / (len(logs) - 1)
            began = f"2026-03-01T02:{int(second) // 60:02}:{second % 60:06.3f}+00:00"
            latencies = 100.0 * np.exp(log + 0.001 * rng.standard_normal(100))
            interference = Interference(seconds=1.0, involuntary_switches=switches)
            facts: dict[str, Any] = {"started_at_utc": began, "interference": interference}
            record(folder, CASE, number, latencies.tolist(), **facts)
    run = read_run(path)
    return spread_advice(run, Rows().measured(run))


def alternating(log: float) -> list[float]:
    return [log, -log, log, -log]


@pytest.mark.parametrize(
    ("log", "span_s", "is_advised"),
    [(0.2, 20.0, True), (0.2, SHORT_S + 1.0, False), (0.0001, 20.0, False), (0.2, 0.0, False)],
)
def test_it_is_advised_where_rounds_differ_within_a_short_time(
    tmp_path: Path, log: float, span_s: float, is_advised: bool
) -> None:
    advice_text = advice(tmp_path / "run", alternating(log), span_s)
    assert (f"--spread {ADVISED} " in advice_text) == is_advised
    assert bool(advice_text) == is_advised


@pytest.mark.parametrize(
    ("span_s", "is_advised"), [(SHORT_S + 1.0, True), (CLOSE_CONTENDED_S + 1.0, False)]
)
def test_rounds_beside_other_work_are_spread_farther(
    tmp_path: Path, span_s: float, is_advised: bool
) -> None:
    advice_text = advice(tmp_path / "run", alternating(0.2), span_s, switches=50)
    assert (f"--spread {ADVISED_CONTENDED} " in advice_text) == is_advised


def test_a_number_of_rounds_is_named_where_so_many_would_help(tmp_path: Path) -> None:
    """Some rounds, not hundreds, and none where the rounds that there are resemble each other."""
    few = advice(tmp_path / "few", alternating(0.05), 20.0)
    (round_count,) = re.findall(r"--rounds (\d+)", few)
    assert 4 < int(round_count) <= MAXIMUM_ROUNDS
    assert "--rounds" not in advice(tmp_path / "many", alternating(0.5), 20.0)
    slope = np.linspace(-0.06, 0.06, 10).tolist()
    slope_advice = advice(tmp_path / "slope", slope, 100.0)
    assert "--spread" in slope_advice and "--rounds" not in slope_advice
