"""What `make test` prints at its end: the tests counted, and skips by their reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.cost import cost_tables, costs

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
    command += ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    lines = process.stdout.splitlines()
    assert [line for line in lines if "GPU" in line] == ["skipped 6: no GPU is here; add one"]
    assert [line for line in lines if "browser" in line] == ["skipped 1: no browser is here"]
    assert lines[-1].startswith("all tests: 7 skipped, 1 passed in ")


BUSY = """
import subprocess, sys, time

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def test_idle():
    time.sleep(1)

def test_itself():
    busy(0.5)

def test_child():
    code = "import time\\nwhile time.process_time() < 1: pass"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processor time is Linux's")
@pytest.mark.long
def test_the_processor_time_of_tests_includes_their_children(tmp_path: Path) -> None:
    (tmp_path / "test_busy.py").write_text(BUSY, "utf-8")
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "tests.cost"]
    command += [f"--junit-xml={report}", "-c", str(ROOT / "pyproject.toml"), "-p"]
    command += ["no:cacheprovider", str(tmp_path / "test_busy.py")]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    by_name = {name: used_s for (_, name), used_s in costs(report).items()}
    assert set(by_name) == {"test_idle", "test_itself", "test_child"}
    assert by_name["test_child"] >= 0.95 > by_name["test_itself"] >= 0.45 > by_name["test_idle"]
    lines = cost_tables(costs(report), sum(by_name.values()) + 7).splitlines()
    collection = next(line for line in lines if "collection" in line)
    assert collection.split()[0] == "7.0"
    assert [line.rpartition(".")[2] for line in lines[-3:]] == [
        "test_child",
        "test_itself",
        "test_idle",
    ]
