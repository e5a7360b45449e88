"""A machine that slows down in a long round shows as a ratio, a time and a line of a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.headless.batch import FAKE, rows, run


@pytest.mark.alone
def test_an_engine_that_gets_slower_is_told_with_how_much_and_when(work: Path) -> None:
    """The scripted engine grows by 20 % of its time a second, from 1 on, warm-up included."""
    script = ("--option", "fake.latency_us=300", "--option", "fake.slowing=0.2")
    arguments = ("--headless", "--models", "add.onnx", *FAKE, *script, "--rounds", "1")
    code, out, errors = run(*arguments, "--condition", "sustained:5s", "--out", "run")
    assert code == 0, errors
    assert "sustained: first and last tenth (0.5 s), for want of two minutes" in out
    (row,) = rows(work / "run")
    assert row["condition"] == "sustained:5s"
    assert float(row["duration_s"]) >= 5.0
    begun_s = float(row["warmup_s"])
    first, last = (1.0 + 0.2 * (begun_s + at_s) for at_s in (0.25, 4.75))
    assert float(row["sustained_p50_ratio"]) == pytest.approx(last / first, rel=0.15)
    assert float(row["sustained_slowdown_after_s"]) == pytest.approx(2.5, abs=1.0)
