"""Which fast tests run which line of the product."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import coverage

from tests.checkout import ROOT
from tests.mutation.contexts import FAILED

Lines = Mapping[str, Mapping[int, Sequence[str]]]
"""By file, from the root, and line: the tests, the ones of the fewest lines first."""


def covering_tests(packages: Iterable[str], folders: Sequence[str]) -> Lines:
    """Of the lines of these packages, by one run of the fast tests of these folders."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "coverage.ini"
        files = "\n    ".join(f"{ROOT}/{package}/*" for package in packages)
        settings.write_text(f"[run]\ndata_file = {scratch}/data\ninclude =\n    {files}\n", "utf-8")
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest"]
        command += ["-q", "-p", "tests.fast", "--only-fast", "-p", "tests.mutation.contexts"]
        command += ["-p", "no:cacheprovider", *folders]
        failed = Path(scratch) / "failed"
        failed.touch()
        environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": scratch, FAILED: str(failed)}
        run = subprocess.run(
            command, cwd=ROOT, env=environment, check=False, stdout=subprocess.DEVNULL
        )
        if run.returncode > 1:  # 1: some tests failed, as they may while they are traced
            raise subprocess.CalledProcessError(run.returncode, command)
        left_out = {"", *failed.read_text("utf-8").splitlines()}
        data = coverage.CoverageData(f"{scratch}/data")
        data.read()
        sizes: dict[str, int] = defaultdict(int)
        lines: dict[str, dict[int, list[str]]] = {}
        for file in data.measured_files():
            tests_by_line = {
                line: [test for test in tests if test not in left_out]
                for line, tests in data.contexts_by_lineno(file).items()
            }
            lines[Path(file).relative_to(ROOT).as_posix()] = tests_by_line
            for tests in tests_by_line.values():
                for test in tests:
                    sizes[test] += 1
        for tests_by_line in lines.values():
            for tests in tests_by_line.values():
                tests.sort(key=lambda test: (sizes[test], test))
    return lines
