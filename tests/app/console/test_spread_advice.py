"""When a run advises to spread its rounds: wide intervals of rounds within a short time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.columns.rows import Rows
from app.console.run_summary import ADVISED, SHORT_S, spread_advice
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.results.runs import CASE, ENVIRONMENT, manifest_of, record


def advice(path: Path, spread: float, span_s: float) -> str:
    """Of four rounds whose medians differ by so much, begun over so many seconds."""
    rng = np.random.default_rng(1)
    with RunFolder.create(path, manifest_of((CASE,), 4)) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(4):
            second = span_s * number / 3
            began = f"2026-03-01T02:{int(second) // 60:02}:{second % 60:06.3f}+00:00"
            level = 100.0 * np.exp(spread * (-1) ** number)
            latencies = (level * np.exp(0.001 * rng.standard_normal(100))).tolist()
            record(folder, CASE, number, latencies, started_at_utc=began)
    run = read_run(path)
    return spread_advice(run, Rows().measured(run))


@pytest.mark.parametrize(
    ("spread", "span_s", "is_advised"),
    [(0.2, 20.0, True), (0.2, SHORT_S + 1.0, False), (0.0001, 20.0, False), (0.2, 0.0, False)],
)
def test_it_is_advised_where_rounds_differ_within_a_short_time(
    tmp_path: Path, spread: float, span_s: float, is_advised: bool
) -> None:
    found = advice(tmp_path / "run", spread, span_s)
    assert (f"--spread {ADVISED}" in found) == is_advised
    assert bool(found) == is_advised
