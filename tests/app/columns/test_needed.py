"""What a row says of its own sureness, and what is said of a case while it is measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.cases.column import Row
from app.columns.precision import missing_text
from app.columns.rows import Rows
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.required_rounds import rounds_needed
from app.stats.verdict import smallest_change_between
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

LEVELS = (100.0, 104.0, 97.0, 110.0)


def row_of(path: Path, rounds: int, runs: int = 3000) -> Row:
    """The row of rounds whose levels differ by some per cent."""
    rng = np.random.default_rng(8)
    with RunFolder.create(path, manifest_of((CASE,))) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(rounds):
            latencies = LEVELS[number] * (1.0 + 0.1 * rng.random(runs))
            record(folder, CASE, number, latencies.tolist())
    return Rows().of(read_run(path))[0]


def test_a_row_tells_how_many_rounds_are_needed_and_which_change_is_found(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", 4)
    # All rounds have the same shape, so their medians differ as their levels do.
    rounds, change = rounds_needed(LEVELS), smallest_change_between(LEVELS)
    assert rounds is not None and change is not None
    # Rounds that may be dependent need somewhat more than these, which are independent.
    counts = {name: int(row[f"required_rounds_{name}"] or 0) for name in ("p50", "p99")}
    assert all(rounds <= count <= 1.5 * rounds for count in counts.values())
    assert row["detectable_slowdown_p50"] == pytest.approx(change, rel=0.05)
    more = int(row["required_rounds_p99"] or 0) - 4
    assert missing_text(row, 12_000) == f"{more} more rounds for ±5 %"


def test_what_has_no_interval_does_not_say_how_to_narrow_it(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", 2)
    assert row["required_rounds_p50"] is None and row["detectable_slowdown_p50"] is None


def test_samples_of_earlier_rounds_count_towards_the_p99() -> None:
    assert missing_text({}, 184) == "184 samples"
    assert missing_text({"iterations": 184, "effective_samples": 184}, 300) == "68 samples"
    assert missing_text({"iterations": 184, "effective_samples": 92}, 300) == "68 samples"


def test_then_rounds_are_what_is_lacking() -> None:
    counts = {"iterations": 5000, "effective_samples": 5000}
    assert missing_text({}, 400) == "3 more rounds for an interval"
    assert missing_text(counts | {"rounds": 2}, 5000) == "1 more round for an interval"
    assert missing_text(counts | {"rounds": 4}, 5000) == "longer rounds"
    six = {"rounds": 4, "required_rounds_p99": 10}
    assert missing_text(counts | six, 5000) == "6 more rounds for ±5 %"
    assert missing_text(counts | six | {"rounds": 12}, 9000) == "nothing"
