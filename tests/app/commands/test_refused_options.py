"""A command takes its own options and arguments; a second command, or another's option, is refused.

The lines are those of before there were commands, when the second of two modes, and options that a
mode did not read, were left out without a word.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.errors import PlanError
from app.commands.legacy import MODE_FLAGS, as_command
from app.commands.parsers import parse
from app.commands.table import BY_NAME
from app.plan.settings.setting import Setting, Switch
from app.plan.settings.table import SETTINGS

MEASURE = "--headless --models mlp --runtimes fake"
VALUES = {
    "--compare": "a b",
    "--history": "a",
    "--verify": "a",
    "--show": "a",
    "--report": "a",
    "--import": "a",
    "--merge": "a",
    "--study": "vollo",
    "--resume": "a",
}
PAIRS = [(a, b) for place, a in enumerate(MODE_FLAGS) for b in MODE_FLAGS[place + 1 :]]
TOGETHER = {
    ("--cache-clear", "--cache-info"),
    ("--compare", "--history"),
    ("--report", "--history"),
    ("--resume", "--history"),
    ("--headless", "--history"),
    ("--import", "--headless"),
    ("--merge", "--headless"),
    ("--study", "--resume"),
    ("--study", "--headless"),
    ("--resume", "--headless"),
    ("--check", "--headless"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "nets").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")


def understood(line: str) -> None:
    """Parse a line; PlanError where it is not understood."""
    name, *words = as_command(shlex.split(line))
    parse(BY_NAME[name], words)


def assert_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command's parser, or before it does anything."""
    try:
        understood(line)
    except PlanError as error:
        assert error.remedy
    else:
        assert main(shlex.split(line)) == 2
        assert not capsys.readouterr().out


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=["".join(pair) for pair in PAIRS])
def test_two_modes_are_refused_unless_they_are_one_command(
    first: str, second: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"{first} {VALUES.get(first, '')} {second} {VALUES.get(second, '')}"
    if (first, second) in TOGETHER:
        understood(line)
        return
    assert_refused(line, capsys)


@pytest.mark.parametrize(
    "line",
    [
        "--list --compare a b --slo p99=5ms",
        "--verify a --models mlp --tune p99",
        "--doctor --headless --models mlp",
        "models --rounds 3",
        "compare a b --models mlp",
        "show a --fail-on slower",
    ],
)
def test_what_was_left_out_without_a_word_ends_with_2(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(line)) == 2
    out, errors = capsys.readouterr()
    assert not out
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [
        f"--compare a a {MEASURE}",
        "--compare a a --history hist --plot h.svg",
        "--report a --history hist",
        f"--merge a b {MEASURE}",
        "--resume a --check",
        "--study vollo --check",
        "--verify a --verify b",
        "--compare a b --compare c d",
        "--verify a b",
        "a --verify b",
        "--history runs more",
        "--doctor runs",
        "--headless runs/nets --models mlp",
        "--report a --export csv a",
        "--compare a b --batch nonsense",
        "--compare a b --out c",
        "--compare a b --plot c.svg",
        "--verify a --json v.json",
        "--verify a --fail-on slower",
        "--report a --fail-on slower",
        "--report a --markdown",
        "--export csv a --out b",
        "--export csv a --strict",
        "--list --models mlp",
        "--doctor --runtimes fake",
        "--doctor --insecure-cluster",
        "--doctor --cluster ssh:a --environment x=y",
        "--cache-info --out a",
        "--cache-clear --models mlp",
        "--install-desktop --suite starter",
        "--history runs --junit v.xml",
        "--history runs --rounds 9",
        "--import a.json --rounds 2",
        "--merge a b --band 3%",
        f"{MEASURE} --csv a.csv",
        f"{MEASURE} --any-host",
        f"{MEASURE} --output a.html",
        "--models mlp --fail-on slower",
        "--models mlp --out run",
        "--export csv",
        "--verify ''",
        "--history ''",
        "--resume ''",
    ],
)
def test_what_a_mode_does_not_read_is_refused(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(command, capsys)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "runs/nets",
        "--models mlp --rounds 3 --budget 2m",
        "--list --suite layers --format csv",
        "--doctor --environment x=/usr/bin/python3",
        "--doctor --cluster tcp://a:8786 --insecure-cluster",
        "--cache-clear --cache-limit 1GiB --debug",
        "--compare a b --band 3% --fail-on slower --markdown --json v --junit w",
        "--history runs --band 3% --fail-on slower --any-host --json v --csv w --plot x",
        "--report a b -o c.html",
        "--export csv,json a b",
        "--headless --import a.json --out b --export csv --sort p99",
        "--merge a x=b --out c --export csv --sort p99",
        "--study vollo runs/vollo",
        "--resume a --baseline-run b --fail-on slower --strict --export csv",
        "--check --models mlp --markdown --strict --out a",
        f"{MEASURE} --baseline fake --fail-on slower --json v --junit w --plot x --strict",
    ],
)
def test_what_a_mode_reads_is_taken(command: str) -> None:
    understood(command)


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


def test_how_to_show_and_to_judge_a_run_may_be_given_when_it_goes_on() -> None:
    understood(
        "--headless --resume run --strict --export parquet --debug --cache-limit 1GiB "
        "--fail-on slower --markdown --json verdicts.json --junit j.xml --baseline-run stored"
    )
