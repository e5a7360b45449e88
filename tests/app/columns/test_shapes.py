"""The first runs of shapes against the later ones, worked out from known samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.case import Case
from app.columns.load import shape_runs
from app.columns.rows import Rows
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.columns.filled_asked import FIRST, cases_asked_for, fill_asked_for
from tests.app.run_folder.runs import manifest_of

SHAPED = 3
"""Its place among the cases."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plain = Case("net", "ort-cpu", axes={"batch": 4})
    with RunFolder.create(tmp_path / "run", manifest_of(cases_asked_for(plain), 1)) as run_folder:
        fill_asked_for(run_folder, plain, 1, 400.0)
    return tmp_path / "run"


def test_each_shape_is_told_by_itself(folder: Path) -> None:
    run = read_run(folder)
    small, large = shape_runs(run, run.cases[SHAPED])
    assert (small.sizes, large.sizes) == ("batch=1", "batch=8")
    assert (len(small.first_us), len(large.first_us)) == (0, FIRST)
    assert (small.share, large.share) == (0.5, 0.5)
    assert small.ratios == ()
    assert large.ratios == pytest.approx((5.0,))


def test_latency_is_that_of_shapes_that_were_seen(folder: Path) -> None:
    row = Rows().of(read_run(folder))[SHAPED]
    assert row["latency_max_us"] == pytest.approx(800.0)
    assert row["first_run_p50_us"] == row["first_run_p99_us"] == pytest.approx(4000.0)
    assert row["first_run_slowdown"] == pytest.approx(5.0)
    assert row["outliers"] == 0
    assert row["batch_size"] is None
