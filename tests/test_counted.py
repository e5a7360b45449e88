"""What `make test` prints at its end: the tests counted, and skips by their reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

TESTS = """
import pytest

@pytest.mark.skip(reason="no GPU is here; add one")
@pytest.mark.parametrize("number", range(5))
def test_on_a_gpu(number): ...

@pytest.mark.alone
@pytest.mark.skip(reason="no GPU is here; add one")
def test_alone_on_a_gpu(): ...

def test_elsewhere():
    pytest.skip("no browser is here")

def test_here(): ...
"""


@pytest.mark.long
def test_skips_of_one_reason_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "tests", str(tmp_path / "test_some.py")]
    command += ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", "-n0"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    lines = process.stdout.splitlines()
    assert [line for line in lines if "GPU" in line] == ["skipped 6: no GPU is here; add one"]
    assert [line for line in lines if "browser" in line] == ["skipped 1: no browser is here"]
    assert lines[-1].startswith("all tests: 7 skipped, 1 passed in ")
