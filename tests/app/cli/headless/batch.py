"""Batch mode as a user starts it: in a process or in this one, and what its folder holds."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from app.__main__ import main
from app.machine.child import STEERED
from app.run_folder.folder import is_being_written
from app.run_folder.manifest import MANIFEST
from app.runs.reader import read_run

FAKE = ("--runtimes", "fake")
SLEEPING = ("--option", "fake.latency_us=3000", "--option", "fake.wait=sleep")
"""Rounds that last as long as any and take a tenth of the processor's time."""


class Terminal(io.StringIO):
    """A stream of somebody who types and looks."""

    def isatty(self) -> bool:
        return True


def launch(
    *arguments: str, file_limit: int | None = None, steered: bool = False
) -> subprocess.Popen[str]:
    """Batch mode in a process group of its own; no file of it may exceed `file_limit` bytes.

    With `steered` it takes lines on its standard input, as a child of the window does.
    """
    code = "import sys; from app.__main__ import main; sys.exit(main(sys.argv[1:]))"
    environment = dict(os.environ) | ({STEERED: "1"} if steered else {})
    if file_limit is not None:
        limits = f"(resource.RLIMIT_FSIZE, ({file_limit}, {file_limit}))"
        code = f"import resource; resource.setrlimit{limits}; {code}"
        # The file that `make coverage` would have it write may not grow either, and Python
        # keeps a .pyc file that was cut off at the limit: every later import of it fails.
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def kill(process: subprocess.Popen[str], folder: Path) -> None:
    """End batch mode at once, so that its run folder can be resumed.

    A child that it was about to start shares the folder's lock until it is another program.
    """
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10.0
    while is_being_written(folder):
        assert time.monotonic() < deadline, "the lock goes with the process"
        time.sleep(0.01)


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of batch mode in this process.

    All that measures is a child of it either way; a process of its own costs the imports again.
    """
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        code = main(arguments)
    return code, out.getvalue(), errors.getvalue()


def rows(folder: Path) -> list[dict[str, str]]:
    return lines_of(folder / "results.full.csv")


def lines_of(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file by its header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def wait_for_rounds(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (folder / MANIFEST).exists() and recorded(folder) >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
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
