"""The command line: what each command takes, what is refused, and what is completed."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.cases.setting import Setting, Switch
from app.cli.main import as_command
from app.cli.parsers import parse
from app.cli.table import BY_NAME, COMMANDS
from app.plan.settings.table import SETTINGS, accepted_by
from exporters.models import catalogue
from runtimes import registry
from tests.app.cli.headless.batch import run
from tests.processes import ended

MEASURE = "--headless --models mlp --runtimes fake"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "nets").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")


def understood(line: str) -> None:
    """Parse a line; PlanError where it is not understood."""
    name, *words = as_command(shlex.split(line))
    parse(BY_NAME[name], words)


@pytest.mark.parametrize(
    "line",
    [
        "models --rounds 3",
        "compare a a --history hist --plot h.svg",
        "compare a b --compare c d",
        "verify ''",
        "report a --fail-on slower",
        "export -f csv a --strict",
        "history runs more",
        "doctor --insecure-cluster",
        "doctor --cluster ssh:a --python x=y",
        "resume ''",
        "study vollo --check",
        "--headless --resume a --study vollo",
        "--headless runs/nets --models mlp",
        f"{MEASURE} --any-host",
        f"{MEASURE} --list",
    ],
)
def test_what_a_command_does_not_read_is_refused(line: str) -> None:
    """By the command's parser, or before it does anything."""
    try:
        understood(line)
    except PlanError as error:
        assert error.remedy
    else:
        assert run(*shlex.split(line))[:2] == (2, "")


SETTLED = [
    setting
    for setting in SETTINGS
    if "run" in setting.commands and "resume" not in setting.commands
]


@pytest.mark.parametrize("setting", SETTLED, ids=lambda setting: setting.key)
def test_nothing_about_the_plan_is_given_again_to_a_run_that_goes_on(setting: Setting) -> None:
    words = [setting.flag] if isinstance(setting.form, Switch) else [setting.flag, "a=1"]
    with pytest.raises(PlanError):
        parse(BY_NAME["resume"], ["run", *words])


@pytest.fixture
def script(tmp_path: Path) -> Path:
    code, out, _ = run("completion", "bash")
    assert code == 0
    path = tmp_path / "graphlap.bash"
    path.write_text(out, "utf-8")
    return path


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    line = (
        'source "$1"; shift; COMP_WORDS=(graphlap "$@"); COMP_CWORD=$#; '
        'function=$(complete -p graphlap | sed "s/.*-F \\([^ ]*\\).*/\\1/"); '
        '"$function" graphlap "${@: -1}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    result = ended(
        "bash", "--norc", "-c", line, "bash", str(script), *words, check=True, cwd=script.parent
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


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(shell: str, tmp_path: Path) -> None:
    code, out, _ = run("completion", shell)
    assert code == 0
    path = tmp_path / "script"
    path.write_text(out, "utf-8")
    for command in COMMANDS:
        assert command.name in out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    result = ended(shell, "-n", path)
    assert (result.returncode, result.stderr) == (0, "")
