"""A few networks of the survey, of each kind: measured and checked on ONNX Runtime."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.survey.__main__ import main
from tests.survey.table import RUNTIMES, networks, read_rows

pytestmark = [pytest.mark.timeout(900), pytest.mark.rare]
SURVEYED = ("logistic_regression", "xgboost_regressor")
SMALL = ("bert_classifier", "gpt2", "clip_vision", "mobilenet_v3_small", "vision_transformer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    survey_folder = tmp_path_factory.mktemp("survey")
    assert main([*SURVEYED, "--folder", str(survey_folder)]) == 0
    return survey_folder


@pytest.mark.parametrize("name", SURVEYED)
def test_an_estimator_of_another_package_is_measured_and_checked(name: str, folder: Path) -> None:
    rows = read_rows(folder / name)
    assert rows.keys() == set(RUNTIMES), (folder / f"{name}.log").read_text("utf-8")
    assert (rows["ort-cpu"]["status"], rows["ort-cpu"]["reason"]) == ("ok", "")
    assert rows["ort-cpu"]["output_ok"].lower() == "true"
    assert all(row["reason"] for row in rows.values() if row["status"] != "ok")


def test_networks_of_the_hubs_are_measured_and_checked(tmp_path: Path) -> None:
    """In one run on one runtime, so that their packages are imported once."""
    factories = {network.name: network.factory for network in networks()}
    models = ",".join(factories[name] for name in SMALL)
    run = tmp_path / "run"
    plan = ["--models", models, "--runtimes", "ort-cpu", "--preset", "glance", "--rounds", "1"]
    command = [sys.executable, "-m", "app", "--headless", *plan, "--out", str(run)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    with (run / "results.full.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"].rpartition(":")[2] for row in rows] == list(SMALL)
    assert {(row["status"], row["output_ok"].lower()) for row in rows} == {("ok", "true")}
