"""A command takes its own options and arguments; a second command or another option is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.errors import PlanError
from app.commands.parsers import parse
from app.commands.table import BY_NAME
from app.commands.without_command import as_command
from app.plan.settings.setting import Setting, Switch
from app.plan.settings.table import SETTINGS

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
        "models --models mlp",
        "compare a b --models mlp",
        "compare a a --history hist --plot h.svg",
        "compare a b --compare c d",
        "compare a b --batch nonsense",
        "compare a b --out c",
        "compare a b --plot c.svg",
        "show a --fail-on slower",
        "verify a b",
        "verify a --verify b",
        "verify a --json v.json",
        "verify a --fail-on slower",
        "verify ''",
        "report a --history hist",
        "report a --fail-on slower",
        "report a --markdown",
        "export -f csv a --out b",
        "export -f csv a --strict",
        "export a",
        "history runs more",
        "history runs --junit v.xml",
        "history runs --rounds 9",
        "history ''",
        "doctor runs",
        "doctor --runtimes fake",
        "doctor --insecure-cluster",
        "doctor --cluster ssh:a --python x=y",
        "cache info --out a",
        "cache clear --models mlp",
        "open --install-desktop --suite starter",
        "import a.json --rounds 2",
        "show a b --threshold 3%",
        "resume a --check",
        "resume ''",
        "study vollo --check",
        "--headless --resume a --study vollo",
        "--headless runs/nets --models mlp",
        f"{MEASURE} --csv a.csv",
        f"{MEASURE} --any-host",
        f"{MEASURE} --output a.html",
        f"{MEASURE} --list",
        "--models mlp --fail-on slower",
        "--models mlp --out run",
        "--verify a",
        "--compare a b",
    ],
)
def test_what_a_command_does_not_read_is_refused(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command's parser, or before it does anything."""
    try:
        understood(line)
    except PlanError as error:
        assert error.remedy
    else:
        assert main(shlex.split(line)) == 2
        assert not capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        "",
        "runs/nets",
        "--models mlp --rounds 3 --budget 2m",
        "models --suite layers --format csv",
        "doctor --python x=/usr/bin/python3",
        "doctor --cluster tcp://a:8786 --insecure-cluster",
        "cache clear --limit 1GiB --debug",
        "compare a b --threshold 3% --fail-on slower -f markdown --json v --junit w",
        "history runs --threshold 3% --fail-on slower --any-host --json v --csv w --plot x",
        "report a b -o c.html",
        "export -f csv,json a b",
        "import a.json --out b --export csv --sort p99",
        "export a x=b -o c -f csv",
        "study vollo runs/vollo",
        "resume a --against b --fail-on slower --strict --export csv",
        "check --models mlp -f markdown --strict --out a",
        f"{MEASURE} --baseline fake --fail-on slower --json v --junit w --plot x --strict",
        f"{MEASURE} --suite layers --batch 1,8 --rounds 3 --preset quick --option fake.wait=sleep "
        "--threads 1 --budget 2m --out a --export csv",
        "--headless --plan plan.toml --out a",
        "--headless --study vollo --rounds 3",
        "--headless --check --models mlp",
    ],
)
def test_what_a_command_reads_is_taken(line: str) -> None:
    understood(line)


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
        "--fail-on slower -f markdown --json verdicts.json --junit j.xml --against stored"
    )
