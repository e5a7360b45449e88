"""Standard streams of the batch mode: a script's own input, and output that nobody reads."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from app.machine.child import STEERED
from tests.app.cli.headless.batch import FAKE, SLEEPING, recorded, rows
from tests.processes import Ended, ended

RUN = ("-m", "app", "--headless", "--models", "*.onnx", *FAKE, *SLEEPING, "--rounds", "1")


MEASURED = (sys.executable, *RUN, "--out", "run")


def in_a_shell(redirection: str, *command: str) -> tuple[int, str, str]:
    """What comes of the command with its streams redirected as a shell says it."""
    result = ended("bash", "-c", f'"$@" {redirection}', "bash", *command, timeout=120)
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("redirected", "code"),
    [
        (">/dev/full", 1),
        ("2>/dev/full > >(head -c 1 >/dev/null)", 0),
        ("2> >(head -c 1 >/dev/null)", 0),
    ],
)
def test_what_nobody_reads_costs_no_row(work: Path, redirected: str, code: int) -> None:
    exit_code, _, errors = in_a_shell(redirected, *MEASURED)
    assert exit_code == code, errors
    assert "Traceback" not in errors
    assert ("the table can't be printed (No space left on device): read run/" in errors) == code
    assert [row["status"] for row in rows(work / "run")] == ["ok"]
    assert recorded(work / "run") == 1


def test_no_file_of_a_run_becomes_the_descriptor_that_libraries_print_to(work: Path) -> None:
    """A round whose engine complains on descriptor 2 would write into the journal."""
    arguments = (*MEASURED, "--option", "fake.fail=none,crash")
    assert in_a_shell("<&- >&- 2>&-", *arguments)[0] == 1
    assert [row["status"] for row in rows(work / "run")] == ["ok", "crashed"]


def test_a_list_for_a_full_disk_says_so(work: Path) -> None:
    code, _, errors = in_a_shell(">/dev/full", sys.executable, "-m", "app", "models")
    assert code == 1
    assert errors == "graphlap: standard output can't be written (No space left on device)\n"


BATCH = (sys.executable, "-m", "app", "--headless", *FAKE, *SLEEPING, "--rounds", "1")


def _shell(command: list[str], script: str, **more: str) -> Ended:
    return ended(*command, input=script, timeout=120, env={**os.environ, **more})


def test_a_loop_over_a_pipe_measures_every_line_and_obeys_none(work: Path) -> None:
    """One of the lines is a word that steers a child of the window."""
    loop = f"while read name; do {shlex.join(BATCH)} --models add.onnx --out $name; done"
    result = _shell(["bash", "-c", loop], "stop\npause\n")
    assert result.returncode == 0, result.stderr
    assert [(work / name / "results.csv").is_file() for name in ("stop", "pause")] == [True, True]


def test_what_a_steered_run_starts_is_not_steered(work: Path) -> None:
    """A user's own file runs in an export process, which inherits the environment. Without torch
    it makes no model, and takes a tenth of the time."""
    body = "import os, pathlib\n\n\ndef build():\n"
    body += f"    pathlib.Path('seen').write_text(os.environ.get({STEERED!r}, 'unset'))\n"
    body += "    raise ValueError('no model')\n"
    (work / "net.py").write_text(body)
    command = [*BATCH, "--models", f"{work}/net.py:build", "--out", "run"]
    result = _shell(command, "", **{STEERED: "1"})
    assert result.returncode == 1, result.stderr
    assert (work / "seen").read_text() == "unset"
