"""`make test-fast` leaves out what starts a process, window or session, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.checkout import ROOT
from tests.fast import all_tests, fast_tests

NAMES = """
import os
import pytest
from tests.app.cli.headless.batch import launch, rows

@pytest.fixture
def started(): return launch("--headless")

@pytest.fixture
def made(tmp_path): return rows(tmp_path)

def helper(): return launch

def test_by_a_fixture(started): ...
@pytest.mark.usefixtures("started")
def test_by_a_mark(): ...
def test_by_a_helper(): helper()
def test_in_a_window(qtbot): ...
def test_in_a_fork(): assert os.fork() or os._exit(0)
def test_with_an_import_of_its_own():
    import onnxruntime
    onnxruntime.InferenceSession("x.onnx")
def test_that_reads_rows(made): ...
def test_that_computes(): assert 1 + 1 == 2
"""
STARTED_UNSEEN = """
import os
import pytest
@pytest.mark.parametrize("name", ["fork", "posix_spawnp"])
def test_that_starts_a_process(name):
    start = getattr(os, name)
    if name == "posix_spawnp":
        start("true", ["true"], os.environ)
    elif not start():
        os._exit(0)
"""


def test_a_test_is_fast_if_all_that_it_uses_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "test_names.py"
    file.write_text(NAMES, "utf-8")
    assert fast_tests(file) == {"test_that_reads_rows", "test_that_computes"}


@pytest.mark.parametrize("kind", ["autouse=True", "pytestmark"])
def test_what_each_test_of_a_file_is_given_counts(tmp_path: Path, kind: str) -> None:
    automatic = kind == "autouse=True"
    mark = "" if automatic else "pytestmark = pytest.mark.usefixtures('started')\n"
    file = tmp_path / "test_given.py"
    text = NAMES.replace("@pytest.fixture\ndef started", "@pytest.fixture(KIND)\ndef started")
    file.write_text(mark + text.replace("KIND", kind * automatic), "utf-8")
    assert not fast_tests(file)


def test_they_are_a_third_of_all() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py")]
    fast, every = (sum(len(names(file)) for file in files) for names in (fast_tests, all_tests))
    assert 3 * fast >= every


def test_a_process_that_was_not_foreseen_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "test_started.py"
    file.write_text(STARTED_UNSEEN, "utf-8")
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "tests.fast", "-p", "no:cacheprovider"]
    command += ["-q", "-c", "/dev/null", f"--rootdir={tmp_path}", f"--junitxml={report}", str(file)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    assert subprocess.run([*command, "--only-fast"], cwd=ROOT, check=False).returncode == 1
    failures = [failure.attrib["message"] for failure in ElementTree.parse(report).iter("failure")]
    assert len(failures) == 2
    assert all(text.startswith("RuntimeError: a test of --only-fast") for text in failures)
