"""Every command line that was documented before there were commands, in its present spelling.

`former_lines.json` has the lines of the documentation, the README, the Makefile and the help as of
commit c4b1b51d, with the options that its parser read and the plan that it made of them.
"""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from app.commands.legacy import as_command
from app.commands.parsers import parse, parser_of
from app.commands.settings import with_all_settings
from app.commands.table import BY_NAME
from app.plan.options import plan_from_options
from app.plan.plan import parse_plan

LINES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("former_lines.json").read_text("utf-8")
)
COMMANDS = {
    "list": "models",
    "doctor": "doctor",
    "install_desktop": "open",
    "cache_clear": "cache",
    "cache_info": "cache",
    "compare": "compare",
    "history": "history",
    "verify": "verify",
    "show": "show",
    "report": "report",
    "imports": "import",
    "merge": "merge",
    "study": "study",
    "resume": "resume",
    "check": "check",
    "headless": "run",
}
"""The former modes, in the order in which one was found, and the commands that they became."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the run folders that the lines without a mode name, and a screen to open them on."""
    for run in ("RUN", "runs/nets", "runs/plan", "runs/dlmark/throughput"):
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "manifest.json").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")


def flat(value: Any) -> list[str]:
    """The texts within a value of a namespace, those of a list one by one."""
    if isinstance(value, list):
        return [text for part in value for text in flat(part)]
    return [str(value)]


def given(options: argparse.Namespace, command: str) -> list[str]:
    """What a line gives a command, without switches and defaults."""
    silent = vars(parse_defaults(command))
    return sorted(
        text
        for name, value in vars(options).items()
        if value != silent.get(name) and not isinstance(value, bool)
        for text in flat(value)
    )


def parse_defaults(command: str) -> argparse.Namespace:
    actions = reversed(parser_of(BY_NAME[command])._actions)
    return argparse.Namespace(**{action.dest: action.default for action in actions})


def expected_command(line: dict[str, Any]) -> str:
    options = line.get("options", {})
    if line.get("worker"):
        return "worker"
    if "export" in options and options.get("paths") and "headless" not in options:
        return "export"
    modes = [command for mode, command in COMMANDS.items() if mode in options]
    if modes:
        return modes[0]
    is_model = any(path.endswith(".onnx") for path in options.get("paths", ()))
    return "run" if is_model else "open"


@pytest.mark.parametrize("line", LINES, ids=[line["line"] or "nothing" for line in LINES])
def test_a_former_line_is_a_command_with_the_same_options(line: dict[str, Any]) -> None:
    command, *words = as_command(shlex.split(line["line"]))
    assert command == expected_command(line)
    options = parse(BY_NAME[command], words)
    former = dict(line.get("options", {}))
    if command == "worker":
        former["words"] = [word for word in words if not word.startswith("-")]
    if former.pop("markdown", False):
        former["format"] = "markdown"
    if command == "cache" and "cache_clear" in former:
        former["action"] = "clear"
    texts = [t for value in former.values() if not isinstance(value, bool) for t in flat(value)]
    assert given(options, command) == sorted(texts)


@pytest.mark.parametrize(
    "line", [line for line in LINES if "plan" in line], ids=lambda line: line["line"]
)
def test_a_former_line_makes_the_same_plan(line: dict[str, Any]) -> None:
    command, *words = as_command(shlex.split(line["line"]))
    options = with_all_settings(parse(BY_NAME[command], words))
    options.check = command == "check"
    assert plan_from_options(options) == parse_plan(line["plan"], "the former parser")


@pytest.mark.parametrize(
    "line", [line for line in LINES if line.get("shipped")], ids=lambda line: line["line"]
)
def test_a_former_line_lays_the_same_over_a_plan_that_ships(line: dict[str, Any]) -> None:
    """Such a plan may have changed since: the former options are laid over the present one."""
    command, *words = as_command(shlex.split(line["line"]))
    options = with_all_settings(parse(BY_NAME[command], words))
    options.check = command == "check"
    former = argparse.Namespace(
        **{**vars(with_all_settings(argparse.Namespace())), **line["options"]}
    )
    assert plan_from_options(options) == plan_from_options(former)
