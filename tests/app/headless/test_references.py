"""A row is wrong only if no reference agrees with it, and says which do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from exporters.types import EVALUATED, PACKAGED, UNOPTIMISED
from tests.app.headless.batch import rows, run
from tests.exporters.support import graph, tensor

X, Y = tensor("x", [2, 3]), tensor("y", [2, 3])
RAMP = (np.arange(6).reshape(2, 3) / 6).astype(np.float32)
ALL = f"{PACKAGED}, {EVALUATED}, {UNOPTIMISED}"
Row = dict[str, str]


@pytest.fixture
def folder(work: Path) -> Path:
    """Three files of one folder: `data` comes with wrong outputs, `fused` is ONNX Runtime's alone;
    and a data set that is of one of them."""
    node = helper.make_node("Add", ["x", "x"], ["y"], "twice")
    fused_node = helper.make_node(
        "CDist", ["x", "x"], ["y"], "fused", domain="com.microsoft", metric="euclidean"
    )
    for name in ("data", "plain"):
        onnx.save(graph([node], [X], [Y]), work / f"{name}.onnx")
    distances = tensor("y", [2, 2])
    onnx.save(graph([fused_node], [X], [distances], vendor="com.microsoft"), work / "fused.onnx")
    onnx.save_tensor(numpy_helper.from_array(3 * RAMP), work / "data_output_0.pb")
    data_set = work / "test_data_set_0"
    data_set.mkdir()
    for file in ("input_0.pb", "output_0.pb"):
        onnx.save_tensor(numpy_helper.from_array(RAMP), data_set / file)
    return work


def test_each_row_says_which_references_there_are_and_which_it_agrees_with(folder: Path) -> None:
    code, out, _ = run(
        *("--headless", "--models", "data.onnx,plain.onnx,fused.onnx", "--rounds", "1"),
        *("--preset", "glance", "--runtimes", "ort-cpu,openvino-cpu,fake", "--out", "run"),
        *("--option", "fake.fail=none,wrong"),
    )
    row_by_case = {}
    for row in rows(folder / "run"):
        wrong = "!" if "fail=wrong" in row["options"] else ""
        row_by_case[Path(row["model"]).stem, row["runtime"] + wrong] = row
    assert code == 1, "fake is wrong"

    for runtime in ("ort-cpu", "openvino-cpu"):
        row = row_by_case["data", runtime]
        assert _verdict(row) == ("ok", EVALUATED, ALL, f"{EVALUATED}, {UNOPTIMISED}", "false")
        assert float(row["max_rel_error"]) < 1e-6
        assert row["reference_disagreement"].count("; ") == 1, "data against each evaluator"
        assert "by 0.5 of" in row["reference_disagreement"]
        assert row["warning_codes"]
    assert _verdict(row_by_case["data", "fake"]) == ("ok", PACKAGED, ALL, PACKAGED, "false")
    assert _verdict(row_by_case["data", "fake!"])[0::3] == ("wrong_output", "")
    assert "every reference" in row_by_case["data", "fake!"]["reason"]

    row = row_by_case["plain", "ort-cpu"]
    both = f"{EVALUATED}, {UNOPTIMISED}"
    assert _verdict(row)[:2] == ("ok", EVALUATED)
    assert row["references"].startswith(f"{both}, without {PACKAGED} (test_data_set_0 ")
    assert (row["agreeing_references"], row["reference_disagreement"]) == (both, "")
    assert row_by_case["plain", "fake!"]["status"] == "wrong_output"

    assert row_by_case["fused", "ort-cpu"]["only_own_reference"] == "true"
    fused_references = row_by_case["fused", "ort-cpu"]["references"]
    assert fused_references.startswith(f"{UNOPTIMISED}, without ")
    assert f"without {EVALUATED} (" in fused_references
    assert row_by_case["fused", "fake"]["only_own_reference"] == "false"
    assert run("export", "-f", "json", "run")[0] == 0
    document = json.loads((folder / "run" / "results.json").read_text("utf-8"))
    assert [row["only_own_reference"] for row in document["rows"]].count(True) == 1
    assert out.count("References disagree (") == 1


def _verdict(row: Row) -> tuple[str, ...]:
    names = ("status", "reference", "references", "agreeing_references", "only_own_reference")
    return tuple(row[name] for name in names)
