"""Damaged files cost a row each, with a reason: a few here, many in `make soak`."""

from __future__ import annotations

from pathlib import Path

from tests.app.headless.mutant_runs import measured
from tests.mutants import mutants


def test_a_folder_of_damaged_files_gives_a_row_for_each(work: Path) -> None:
    (work / "nets").mkdir()
    counts = measured(mutants(work / "nets", 36, seed=1), work / "run", "ort-cpu")
    assert counts.total() == 36
    assert counts["ok"] < counts.total() / 2, "so few of them are damaged"
