"""A package with a runtime beside a wheel: measured, and tested by the contract that ships."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.exporters.support import save_affine
from tests.installed.environment import Environment
from tests.runtimes.packages import example


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example(tmp_path_factory.mktemp("example"))


def test_it_is_measured_from_a_folder_that_it_was_installed_to(
    installed: Environment, hostile: Path, package: Path
) -> None:
    save_affine(hostile / "affine.onnx")
    sweep_flags = ("--models", "affine.onnx", "--batch", "2", "--runtimes", "numpy")
    flags = ("--headless", *sweep_flags, "--rounds", "1", "--out", "run")
    process = installed.run("graphlap", *flags, cwd=hostile, PYTHONPATH=f"{hostile}:{package}")
    assert process.returncode == 0, process.stdout + process.stderr
    with (hostile / "run" / "results.full.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["runtime"], row["status"], row["output_ok"]) == ("numpy", "ok", "true")


def test_its_own_tests_run_on_a_wheel(installed: Environment, package: Path) -> None:
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    source = package.parent / "source"
    process = installed.run("python", *tests, cwd=source, PYTHONPATH=str(package))
    assert process.returncode == 0, process.stdout + process.stderr
    assert "passed" in process.stdout
