"""`-f json` of a run: the folder, the rows and the verdicts under keys that stay."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.run_folder.folder import RunFolder, lock_folder
from app.runs.reader import read_run
from tests.app.present.console.telling import told
from tests.app.run_folder.measured import Speed, make, measure
from tests.golden.folders import unpack


def shown(path: Path) -> dict[str, Any]:
    _, text = told("show", path, "-f", "json")
    document: dict[str, Any] = json.loads(text)
    return document


def model_names(document: dict[str, Any]) -> list[str]:
    table = next(block for block in document["blocks"] if block["type"] == "table")
    return [row["model"] for row in table["rows"]]


def test_rows_have_ids_values_and_units_and_a_verdict_is_one_word(tmp_path: Path) -> None:
    path = unpack("plain", tmp_path / "run")
    document = shown(path)
    run, rows = document["run"], Rows().of(read_run(path))
    assert run["folder"] == str(path) and not run["is_live"]
    assert [row["case_id"] for row in run["rows"]] == [row["case_id"] for row in rows]
    assert [row["latency_p50_us"] for row in run["rows"]] == [row["latency_p50_us"] for row in rows]
    assert run["units"]["latency_p50_us"] == "us"
    verdicts = {verdict["what"]: verdict for verdict in run["verdicts"]}
    assert {verdict["verdict"] for verdict in verdicts.values()} <= {"faster", "same", "undecided"}
    clear = verdicts["dense_128_32"]
    assert (clear["verdict"], clear["first"]) == ("faster", "ort-cpu")
    assert clear["first"] in clear["sentence"] and clear["times_ci_low"] > 1.0


@pytest.mark.parametrize("runtimes", [("ort-cpu",), ("ort-cpu", "torch-cpu")])
def test_the_name_of_a_model_has_the_same_key_for_any_number_of_runtimes(
    runtimes: tuple[str, ...], tmp_path: Path
) -> None:
    cases = [Case("mlp", runtime) for runtime in runtimes]

    def fill(folder: RunFolder) -> None:
        for case in cases:
            measure(folder, case, Speed(50.0))

    path = make(tmp_path / "run", cases, fill)
    assert model_names(shown(path)) == ["mlp"]


def test_a_folder_that_is_being_written_is_not_said_to_have_ended(tmp_path: Path) -> None:
    cases = [Case("mlp", "ort-cpu"), Case("mlp", "torch-cpu")]
    path = make(tmp_path / "run", cases, lambda folder: measure(folder, cases[0], Speed(50.0), 2))
    _, ended = told("show", path)
    lock = lock_folder(path)
    try:
        _, live = told("show", path)
        document = shown(path)
    finally:
        os.close(lock)
    assert document["run"]["is_live"]
    assert "resume the run" in ended and "warnings in" in ended
    assert "resume" not in live and "warnings in" not in live, "rounds to come are not missing"
