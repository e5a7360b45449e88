"""Ten networks of the kinds that users have are measured by one pattern and no question."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.run_folder.manifest import read_manifest
from tests.app.headless.batch import rows, run
from tests.app.headless.user_networks import write_networks


@pytest.mark.rare
def test_one_pattern_measures_every_kind_or_refuses_it_in_one_sentence(work: Path) -> None:
    (work / "add.onnx").unlink()
    files = write_networks(work)
    assert len(files) == 10
    options = ("--runtimes", "ort-cpu,openvino-cpu", "--preset", "glance", "--rounds", "1")
    code, _, errors = run("run", "*.onnx", *options, "--out", "out")
    assert code == 0, errors
    statuses = {(row["model"], row["runtime"]): row["status"] for row in rows(work / "out")}
    assert len(statuses) == 20
    refusals = {key for key, status in statuses.items() if status != "ok"}
    assert refusals == {("texts.onnx", "openvino-cpu")}
    (row,) = (row for row in rows(work / "out") if row["status"] != "ok")
    assert row["status"] == "unsupported"
    assert row["reason"].count("\n") == 0
    assert all(row["output_ok"] == "true" for row in rows(work / "out") if row["status"] == "ok")
    sizes = read_manifest(work / "out").assumed_sizes["decoder.onnx"]
    assert sizes["total_sequence"] == sizes["past_sequence"] + sizes["sequence"]
    assert sizes["batch"] == 1
