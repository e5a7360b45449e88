"""A system that we can't run on is told so in one sentence, before an import fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.checkout import ROOT

# What Windows' Python lacks is lacking while our modules are imported.
LACKING = (
    "import sys\nfor name in ('fcntl', 'resource', 'termios', 'pwd'): sys.modules[name] = None\n"
)
ON_WINDOWS = "sys.platform = 'win32'\n"


@pytest.mark.parametrize("arguments", [[], ["--headless", "--models", "mlp"], ["--doctor"]])
def test_windows_is_refused_in_one_sentence(arguments: list[str]) -> None:
    code = f"{LACKING}from app.__main__ import main\n{ON_WINDOWS}sys.exit(main({arguments}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("graphlap: Graphlap runs on Linux and macOS")
    assert "WSL" in done.stderr
    assert done.stderr.count("\n") == 1
