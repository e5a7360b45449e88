"""The completion script, in a real bash; of the other shells where they are installed."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from app.__main__ import main
from app.commands.parsers import parser_of
from app.commands.table import COMMANDS
from app.plan.settings.table import accepted_by
from exporters.models import catalogue
from runtimes import registry


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "graphlap.bash"
    path.write_text(capsys.readouterr().out, "utf-8")
    return path


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    line = (
        'source "$1"; shift; COMP_WORDS=(graphlap "$@"); COMP_CWORD=$#; _graphlap; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    result = subprocess.run(
        ["bash", "--norc", "-c", line, "bash", str(script), *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=script.parent,
    )
    assert not result.stderr
    return set(result.stdout.split())


def test_the_first_word_is_a_command_or_a_file(script: Path) -> None:
    (script.parent / "model.onnx").touch()
    assert completed(script, "") >= {command.name for command in COMMANDS}
    assert completed(script, "mod") == {"models", "model.onnx"}


def test_options_are_those_of_the_command(script: Path) -> None:
    candidates = completed(script, "resume", "--")
    flags = {setting.flag for setting in accepted_by("resume")}
    assert candidates >= flags | {"--format", "--quiet", "--help"}
    assert "--rounds" not in candidates
    assert completed(script, "run", "--prec") == {"--precision"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "--runtimes", "ort-c"), {n for n in registry.names() if n.startswith("ort-c")}),
        (("run", "lstm_t"), {n for n in catalogue.names() if n.startswith("lstm_t")}),
        (("run", "--precision", "fp1"), {"fp16"}),
        (("run", "--precision", "fp32,fp1"), {"fp32,fp16"}),
        (("run", "--preset", "gl"), {"glance"}),
        (("show", "-f", "j"), {"json"}),
        (("models", "--suite", "start"), {"starter"}),
        (("study", "vol"), {"vollo"}),
        (("help", "exit"), {"exit-codes"}),
        (("completion", ""), {"bash", "zsh", "fish"}),
    ],
)
def test_values_come_from_the_tables(
    script: Path, words: tuple[str, ...], expected: set[str]
) -> None:
    (script.parent / "graphlap.bash").rename(script.parent / "zz")
    candidates = completed(script.parent / "zz", *words)
    assert candidates - {"zz"} == expected
    assert expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(
    shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["completion", shell]) == 0
    path = tmp_path / "script"
    path.write_text(capsys.readouterr().out, "utf-8")
    for command in COMMANDS:
        assert command.name in path.read_text("utf-8")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    result = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_fish_completes_each_option_of_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    """What can be checked without fish: each line's words, and that no option is left out."""
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.replace("\\'", "").splitlines()
    fish_options = set()
    for words in (shlex.split(line) for line in lines if not line.startswith("#")):
        assert words[:4] == ["complete", "-c", "graphlap", "-n"]
        command = words[4].removeprefix("__fish_seen_subcommand_from ")
        options = pairwise(words[5:])
        fish_options |= {
            (command, {"-l": "--", "-s": "-"}[kind] + name)
            for kind, name in takewhile(lambda pair: pair[0] != "-d", options)
            if kind in ("-l", "-s")
        }
    assert fish_options == {
        (command.name, option)
        for command in COMMANDS
        for action in parser_of(command)._actions
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    }


def test_zsh_gets_the_script_of_bash_after_its_header(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "zsh"]) == 0
    header, load, *lines = capsys.readouterr().out.splitlines()
    assert header == "#compdef graphlap"
    assert "bashcompinit" in load
    assert lines == script.read_text("utf-8").splitlines()
