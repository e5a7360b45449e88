"""A few networks of the survey, one of each kind: measured and checked on ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.survey.__main__ import main
from tests.survey.table import RUNTIMES, read_rows

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]
SMALL = ("convnext", "vision_transformer", "logistic_regression", "xgboost_regressor")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("survey")
    assert main([*SMALL, "--folder", str(made)]) == 0
    return made


@pytest.mark.parametrize("name", SMALL)
def test_a_network_of_another_package_is_measured_and_checked(name: str, folder: Path) -> None:
    rows = read_rows(folder / name)
    assert rows.keys() == set(RUNTIMES), (folder / f"{name}.log").read_text("utf-8")
    assert (rows["ort-cpu"]["status"], rows["ort-cpu"]["reason"]) == ("ok", "")
    assert rows["ort-cpu"]["output_ok"].lower() == "true"
    assert all(row["reason"] for row in rows.values() if row["status"] != "ok")


def test_what_is_finished_is_not_measured_again(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("results.csv")}
    assert main([*SMALL, "--folder", str(folder)]) == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("results.csv")} == before
