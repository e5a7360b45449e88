"""What the Makefile installs for each command, how it reports a failure, and what it refuses.

pip is a script that records how it was called, so that nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.processes import Ended, ended

_PYTHON = f"""#!/bin/sh
if [ "$1" = -c ]; then exec {sys.executable} "$@"; fi
mkdir -p "$3/bin"
cp pip "$3/bin/pip"
printf '#!/bin/sh\necho "$@" >> calls\n' > "$3/bin/python"
chmod +x "$3/bin/python"
"""
_PIP = """#!/bin/sh
echo "$@" >> calls
echo "a line of pip's log"
exit ${PIP_EXIT:-0}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the Makefile and what its stamps depend on."""
    for name in ("Makefile", "pyproject.toml", "setup.py", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "runtimes").mkdir()
    for name, text in (("python", _PYTHON), ("pip", _PIP)):
        (tmp_path / name).write_text(text, "utf-8")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def make(project: Path, target: str, **variables: str) -> Ended:
    environment = {"PATH": os.environ["PATH"], "CC": sys.executable, **variables}
    return ended("make", "--silent", "PYTHON=./python", target, cwd=project, env=environment)


def calls(project: Path) -> list[str]:
    path = project / "calls"
    return path.read_text("utf-8").splitlines() if path.exists() else []


@pytest.mark.parametrize(
    ("target", "extras", "command"),
    [
        ("bench", "engines", "-m app run starter"),
        ("gui", "all", "-m app open"),
        ("test", "all,dev", "-m tests"),
    ],
)
def test_a_command_installs_the_extras_that_it_needs(
    project: Path, target: str, extras: str, command: str
) -> None:
    process = make(project, target)
    assert process.returncode == 0, process.stderr
    *installs, ran = calls(project)
    assert installs[-1].endswith(f"-e .[{extras}]")
    assert ran == command
    assert "a line of pip's log" not in process.stdout + process.stderr
    assert "GB" in process.stdout
    assert ".venv/install.log" in process.stdout
    assert "a line of pip's log" in (project / ".venv/install.log").read_text("utf-8")


def test_what_is_installed_is_not_installed_again(project: Path) -> None:
    make(project, "test")
    calls_before = len(calls(project))
    for target in ("bench", "gui", "test"):
        assert make(project, target).stdout == ""
    assert len(calls(project)) == calls_before + 3


def test_more_is_installed_for_the_tests_after_the_sweep(project: Path) -> None:
    make(project, "bench")
    make(project, "test")
    assert any(call.endswith("-e .[all,dev]") for call in calls(project))


def test_a_failure_of_pip_shows_its_log_and_its_exit_code(project: Path) -> None:
    process = make(project, "bench", PIP_EXIT="7")
    assert process.returncode != 0
    assert "a line of pip's log" in process.stderr
    assert "Error 7" in process.stderr
    assert not any("-m app" in call for call in calls(project))
    assert not (project / ".venv/.installed-bench").exists()


def test_a_missing_compiler_is_one_sentence_before_anything_is_installed(project: Path) -> None:
    process = make(project, "bench", CC="no-such-compiler -pthread")
    assert process.returncode != 0
    first, *rest = process.stderr.splitlines()
    assert "C compiler" in first
    assert all(line.startswith("make:") for line in rest)
    assert calls(project) == []


def test_an_unusable_python_is_one_sentence(project: Path) -> None:
    (project / "python").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    process = make(project, "bench")
    assert process.returncode != 0
    assert "Python 3.11" in process.stderr.splitlines()[0]
    assert calls(project) == []
