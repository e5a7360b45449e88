"""Standard input of the batch mode: a shell script's own, unless the starter steers by it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from app.machine.child import STEERED
from tests.app.headless.batch import FAKE, SLEEPING

BATCH = (sys.executable, "-m", "app", "--headless", *FAKE, *SLEEPING, "--rounds", "1")


def _shell(command: list[str], script: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        input=script,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **more},
    )


def test_a_loop_over_a_pipe_measures_every_line_and_obeys_none(work: Path) -> None:
    """One of the lines is a word that steers a child of the window."""
    loop = f"while read name; do {shlex.join(BATCH)} --models add.onnx --out $name; done"
    result = _shell(["bash", "-c", loop], "stop\npause\n")
    assert result.returncode == 0, result.stderr
    assert [(work / name / "results.csv").is_file() for name in ("stop", "pause")] == [True, True]


def test_a_script_on_standard_input_goes_on_after_a_run(work: Path) -> None:
    script = f"{shlex.join(BATCH)} --models add.onnx --out run\necho after\nexit 7\n"
    result = _shell(["bash", "-s"], script)
    assert result.returncode == 7, result.stderr
    assert result.stdout.endswith("after\n")


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
