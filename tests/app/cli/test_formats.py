"""Formats and pages of commands."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli.main import as_command
from app.cli.parsers import parse
from app.cli.table import BY_NAME, COMMANDS, EXAMPLES
from tests.app.cli.headless.batch import Terminal, run

MEASURE = ("--runtimes", "fake", "--preset", "brief", "--rounds", "1")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two runs of the same case."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("a", "b"):
        code, _, _ = run("run", "mlp", *MEASURE, "--out", str(folder / name))
        assert code == 0
    return str(folder / "a"), str(folder / "b")


def commands(a: str, b: str) -> list[tuple[str, ...]]:
    return [
        ("show", a),
        ("compare", a, b),
        ("history", str(Path(a).parent)),
        ("verify", a),
        ("models", "--suite", "starter"),
        ("runtimes",),
        ("runtimes", "ort-cpu"),
        ("cache",),
        ("resume", a),
    ]


@pytest.mark.parametrize("place", range(9))
def test_each_command_prints_every_format(runs: tuple[str, str], place: int) -> None:
    words = commands(*runs)[place]
    outputs = {}
    for form in ("table", "json", "csv", "markdown"):
        code, outputs[form], _ = run(*words, "-f", form)
        assert code == 0
        assert "\x1b" not in outputs[form]
    assert json.loads(outputs["json"])
    header, *rows = csv.reader(io.StringIO(outputs["csv"]))
    assert len(header) > 1
    assert all(len(row) == len(header) for row in rows)
    assert "| --- " in outputs["markdown"]
    assert outputs["table"].strip()
    assert len(set(outputs.values())) == 4


def test_a_run_prints_its_document_and_progress_apart(tmp_path: Path) -> None:
    words = ("run", "mlp", *MEASURE, "-f", "json", "--out", str(tmp_path / "run"))
    code, out, errors = run(*words)
    assert code == 0
    assert {block["type"] for block in json.loads(out)["blocks"]} >= {"table", "paragraph"}
    assert "round 1" in errors


@pytest.mark.parametrize("words", [("--no-color",), ()])
def test_colours_are_switched_off(
    words: tuple[str, ...],
    runs: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a terminal, by the option or by NO_COLOR."""
    monkeypatch.setenv("NO_COLOR", "1")  # also so that what the option sets is undone later
    if words:
        monkeypatch.delenv("NO_COLOR")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["show", runs[0], *words]) == 0
    assert terminal.getvalue()
    assert "\x1b[" not in terminal.getvalue()


@pytest.mark.parametrize("line", [*EXAMPLES, *(e for c in COMMANDS for e in c.examples)])
def test_every_example_is_understood(line: str) -> None:
    words = shlex.split(re.split(r" [|>] ", line)[0])
    assert words[0] == "graphlap"
    name, *rest = as_command(words[1:])
    parse(BY_NAME[name], rest)
