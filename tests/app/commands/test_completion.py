"""The completion script, in a real bash; of other shells where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from app.__main__ import main
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
        'source "$1"; shift; COMP_WORDS=(graphlap "$@"); COMP_CWORD=$#; '
        'function=$(complete -p graphlap | sed "s/.*-F \\([^ ]*\\).*/\\1/"); '
        '"$function" graphlap "${@: -1}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    result = subprocess.run(
        ["bash", "--norc", "-c", line, "bash", str(script), *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=script.parent,
    )
    return set(result.stdout.split())


def test_the_first_word_is_a_command(script: Path) -> None:
    assert completed(script, "") >= {command.name for command in COMMANDS}
    assert completed(script, "mod") == {"models"}


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
    assert expected <= completed(script, *words)


def test_a_file_is_offered_where_no_names_are_known(script: Path) -> None:
    (script.parent / "saved").mkdir()
    assert "saved" in completed(script, "show", "sav")


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
