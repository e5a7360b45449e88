"""How the program was started, and lines that are pasted into a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import app.__main__
from app.plan.command import graphlap_line, program, shell_line, typed_path
from tests.app.hostile import OF_FILES, steering


def script_at(folder: Path) -> Path:
    """A program called graphlap in this folder."""
    folder.mkdir(parents=True)
    file = folder / "graphlap"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_a_program_that_the_shell_finds_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = script_at(tmp_path / "bin")
    monkeypatch.setattr(sys, "argv", [str(file)])
    monkeypatch.setenv("PATH", str(file.parent))
    assert program() == ("graphlap",)


def test_one_of_an_environment_goes_by_its_path_from_the_folder_of_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_at(tmp_path / "elsewhere")
    file = script_at(tmp_path / "work" / ".venv" / "bin")
    monkeypatch.setattr(sys, "argv", [str(file)])
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path / "work")
    assert program() == (".venv/bin/graphlap",)
    monkeypatch.chdir(tmp_path)
    assert program(shell_folder=tmp_path / "work") == (".venv/bin/graphlap",), (
        "the run changed its folder"
    )


def test_the_module_is_started_by_its_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "env" / "bin" / "python"
    monkeypatch.setattr(sys, "argv", [app.__main__.__file__])
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    assert program() == ("env/bin/python", "-m", "app")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "pytest" / "__main__.py")])
    assert "env/bin/python" not in program(), "that is another module"


def test_the_module_goes_by_its_script_where_the_shell_finds_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only a script of the same environment, which is installed from here, runs this copy."""
    file = script_at(tmp_path / "env" / "bin")
    monkeypatch.setattr(sys, "argv", [app.__main__.__file__])
    monkeypatch.setattr(sys, "executable", str(file.with_name("python")))
    monkeypatch.setenv("PATH", str(file.parent))
    assert program() == ("graphlap",)
    script_at(tmp_path / "other" / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "other" / "bin"))
    assert program()[-2:] == ("-m", "app")


def test_a_program_in_the_current_folder_is_not_looked_for_in_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = script_at(tmp_path / "here")
    monkeypatch.setattr(sys, "argv", [str(file)])
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path / "here")
    assert program() == ("./graphlap",)


def test_words_are_quoted_and_other_programs_get_the_usual_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/jupyter"])
    assert graphlap_line("--show", "a b").endswith(" --show 'a b'")


def test_a_path_elsewhere_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert typed_path(tmp_path / "work" / "run") == "run"
    assert typed_path(tmp_path / "run") == str(tmp_path / "run")


WORDS = ["--models", *OF_FILES, "", "\x1b[201~\nrm -r x\n1", "it's"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_shell_reads_the_words_back() -> None:
    line = shell_line(WORDS)
    assert not steering(line)
    assert "\n" not in line
    result = subprocess.run(
        [b"bash", b"-c", os.fsencode(f"printf '%s\\0' {line}")], capture_output=True, check=True
    )
    assert result.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in WORDS]


def test_plain_words_stay_as_they_are() -> None:
    assert shell_line(["graphlap", "--models", "a b.onnx"]) == "graphlap --models 'a b.onnx'"
