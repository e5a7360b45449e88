"""Files without a test that runs alone are not imported for those; no such test is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

ALONE = "import pytest\n\n@pytest.mark.alone\ndef test_alone(): ...\n"
MARKS_ALL = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.alone)
"""


def collected(folder: Path, *options: str) -> tuple[int, list[str]]:
    """The exit code, and the names of the tests that were chosen."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "tests.alone"]
    command += ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", *options]
    process = subprocess.run(
        [*command, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = process.stdout.splitlines()
    return process.returncode, sorted(line.partition("::")[2] for line in lines if "::" in line)


def test_only_files_that_name_the_mark_are_imported(tmp_path: Path) -> None:
    (tmp_path / "test_named.py").write_text(ALONE)
    (tmp_path / "test_broken.py").write_text("raise ImportError\n")
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "conftest.py").write_text(MARKS_ALL)
    (tmp_path / "all" / "test_marked.py").write_text("def test_by_its_conftest(): ...\n")
    mark_options = ("-m", "alone")
    assert collected(tmp_path, "--only-alone", *mark_options) == (
        0,
        ["test_alone", "test_by_its_conftest"],
    )
    assert collected(tmp_path, *mark_options)[0] == pytest.ExitCode.INTERRUPTED, "all are imported"


def test_a_mark_that_its_file_does_not_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(MARKS_ALL)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "test_here.py").write_text("def test_here(): ...\n")
    assert collected(tmp_path)[0] == pytest.ExitCode.USAGE_ERROR
