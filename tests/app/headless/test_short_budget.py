"""Searches whose budget ends in the middle of the export that they begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.headless.batch import recorded, rows, run


@pytest.mark.parametrize(
    "search",
    [("--slo", "p99=5ms"), ("--tune", "p99"), ("--largest-batch", "--memory-limit", "4GiB")],
    ids=["slo", "tune", "largest"],
)
def test_a_search_whose_export_the_budget_ends_is_over_for_now(
    work: Path, monkeypatch: pytest.MonkeyPatch, search: tuple[str, ...]
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(work / "empty"))
    arguments = ("--models", "mlp", "--runtimes", "ort-cpu", "--preset", "glance", "--out", "run")
    code, out, errors = run("--headless", *arguments, *search, "--budget", "300ms")
    assert code == 1, (out, errors)
    assert {row["status"] for row in rows(work / "run")} == {"cancelled"}
    assert recorded(work / "run") <= 1
    assert "Traceback" not in errors
