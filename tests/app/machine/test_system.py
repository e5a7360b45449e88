"""A system that we can't run on is told so in one sentence, before an import fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.processes import ended, python

# What Windows' Python lacks is lacking while our modules are imported.
LACKING = (
    "import sys\nfor name in ('fcntl', 'resource', 'termios', 'pwd'): sys.modules[name] = None\n"
)
ON_WINDOWS = "sys.platform = 'win32'\n"


def test_windows_is_refused_in_one_sentence() -> None:
    code = f"{LACKING}from app.__main__ import main\n{ON_WINDOWS}sys.exit(main(['doctor']))"
    result = python("-c", code, cwd=ROOT)
    assert result.returncode == 2
    assert result.stderr.startswith("graphlap: Graphlap runs on Linux and macOS")
    assert "WSL" in result.stderr
    assert result.stderr.count("\n") == 1


_WITHOUT_PROC = ("unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh")


def _can_unmount() -> bool:
    result = subprocess.run([*_WITHOUT_PROC, "true"], capture_output=True, check=False)
    return result.returncode == 0


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("unshare") is None or not _can_unmount(),
    reason="this user may not make a namespace of mounts",
)
@pytest.mark.parametrize(
    "arguments",
    [
        ["--headless", "--models", "mlp", "--runtimes", "fake"],
        ["doctor"],
    ],
)
def test_a_linux_without_proc_is_told_in_one_sentence(arguments: list[str], tmp_path: Path) -> None:
    out = [] if "doctor" in arguments else ["--out", str(tmp_path / "run")]
    result = ended(*_WITHOUT_PROC, sys.executable, "-m", "app", *arguments, *out, cwd=ROOT)
    assert (result.returncode, result.stderr.count("graphlap: ")) == (2, 1), result.stderr
    assert "/proc is not mounted" in result.stderr
    assert not (tmp_path / "run").exists()


def test_the_start_of_the_program_is_known_where_it_is_the_program() -> None:
    """A process that was started as something else has done other things since."""
    code = "import sys, time; time.sleep(0.3); sys.argv[0] = sys.argv[1]\n" + (
        "from app.machine.system import program_begun_s\n"
        "print(time.monotonic() - program_begun_s())"
    )
    program_s, other_s = (
        float(subprocess.check_output([sys.executable, "-c", code, f"/somewhere/bin/{name}"]))
        for name in ("graphlap", "pytest")
    )
    assert program_s >= 0.25
    assert other_s < program_s - 0.2
