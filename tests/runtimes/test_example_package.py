"""The example of a package with a runtime is measured, and its contract is really kept."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.exporters.support import save_affine
from tests.runtimes.packages import example, installed

SPOILT = """
import pytest
from graphlap.contract import RuntimeContract
from graphlap_numpy.operators import OPERATORS

class TestSpoilt(RuntimeContract):
    name = "numpy"

    @pytest.fixture(autouse=True)
    def tanh_does_nothing(self, monkeypatch):
        monkeypatch.setitem(OPERATORS, "Tanh", OPERATORS["Identity"])
"""
# Of an environment whose `graphlap` may be another edition, as in the process of a sweep.
PYTEST = """
import sys
from exporters import install_layout
install_layout.answer_to_our_name()
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, and beside it a package whose engine is not there."""
    target = example(tmp_path_factory.mktemp("example"))
    sources = {"broken_runtime": "import no_such_engine\n"}
    installed(target, "their-broken", {"broken": "broken_runtime:Broken"}, sources)
    return target


def run(package: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(package)])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path, "GRAPHLAP_CACHE": str(package.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_measured_in_its_own_process_and_a_broken_one_costs_only_its_row(
    package: Path, tmp_path: Path
) -> None:
    save_affine(tmp_path / "affine.onnx")
    names = ("--runtimes", "numpy,broken", "--models", "affine.onnx", "--batch", "2")
    flags = (*names, "--preset", "brief", "--rounds", "1", "--out", "run")
    process = run(package, "-m", "app", "--headless", *flags, cwd=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    with (tmp_path / "run" / "results.full.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["runtime"]: row for row in csv.DictReader(file)}
    numpy_row, broken_row = rows["numpy"], rows["broken"]
    assert (numpy_row["status"], numpy_row["output_ok"]) == ("ok", "true")
    assert numpy_row["execution_provider"] == "numpy"
    assert int(numpy_row["iterations"]) > 100
    assert broken_row["status"] == "unavailable"
    assert "their-broken 1.0" in broken_row["reason"]
    assert "No module named 'no_such_engine'" in broken_row["reason"]
    manifest = (tmp_path / "run" / "manifest.json").read_text("utf-8")
    assert re.search(r'"graphlap-numpy": "1.0"', manifest)


@pytest.mark.rare
def test_its_own_tests_hold_it_to_the_contract(package: Path) -> None:
    source = package.parent / "source"
    (source / "tests" / "test_spoilt.py").write_text(SPOILT, "utf-8")
    process = run(
        package, "-c", PYTEST, "-q", "-rpf", "-p", "no:cacheprovider", "tests", cwd=source
    )
    outcomes = re.findall(r"^(PASSED|FAILED) \S+::(Test\w+)::(\w+)", process.stdout, re.MULTILINE)
    passed_names = [
        name
        for outcome, class_name, name in outcomes
        if (outcome, class_name) == ("PASSED", "TestNumpy")
    ]
    failed_tests = {
        (class_name, name) for outcome, class_name, name in outcomes if outcome == "FAILED"
    }
    assert len(passed_names) > 30, process.stdout + process.stderr
    assert {class_name for class_name, _ in failed_tests} == {"TestSpoilt"}
    assert ("TestSpoilt", "test_outputs_agree_with_the_reference") in failed_tests
    assert "where False = agrees(" in process.stdout, "a failure says what was compared"
