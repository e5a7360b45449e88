"""Batch mode as a user starts it: a process, its folder, and what the folder holds."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from pathlib import Path

from app.results.manifest import MANIFEST
from app.results.reader import read_run

FAKE = ("--runtimes", "fake")


def launch(*arguments: str, file_limit: int | None = None) -> subprocess.Popen[str]:
    """Batch mode in a process group of its own; no file of it may exceed `file_limit` bytes."""
    code = "import sys; from app.__main__ import main; sys.exit(main(sys.argv[1:]))"
    environment = dict(os.environ)
    if file_limit is not None:
        limits = f"(resource.RLIMIT_FSIZE, ({file_limit}, {file_limit}))"
        code = f"import resource; resource.setrlimit{limits}; {code}"
        # The file that `make coverage` would have it write may not grow either.
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def run(*arguments: str, file_limit: int | None = None) -> tuple[int, str, str]:
    process = launch(*arguments, file_limit=file_limit)
    out, errors = process.communicate(timeout=120)
    return process.returncode, out, errors


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def wait_for_rounds(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (folder / MANIFEST).exists() and recorded(folder) >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("the rounds did not come")


def recorded(folder: Path) -> int:
    return sum(len(rounds) for rounds in read_run(folder).rounds.values())


def samples_of(folder: Path) -> dict[tuple[str, int], bytes]:
    """The raw samples of every recorded round."""
    return {
        (case_id, number): (folder / "samples" / result.samples).read_bytes()
        for case_id, rounds in read_run(folder).rounds.items()
        for number, result in rounds.items()
    }
