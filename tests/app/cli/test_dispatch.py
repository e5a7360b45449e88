"""From the words of a shell to a command: what is one, what is made one, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.cli import main as command_line
from app.cli.help import PAGES
from app.cli.main import as_command
from app.cli.table import COMMANDS
from tests.app.cli.headless.batch import run
from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT
from tests.processes import Ended, python

ENGINES = {"torch", "onnxruntime", "openvino", "tensorrt", "tensorrt_rtx_bindings", "PySide6"}

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def start(*words: str, **environment: str) -> Ended:
    """The program in a process of its own, which then writes what it imported."""
    code = (
        "import sys\nfrom app.__main__ import main\n"
        "try: code = main(sys.argv[1:])\n"
        "except SystemExit as stop: code = stop.code\n"
        "names = {name for name in sys.modules}\n"
        "print('IMPORTED', *names, file=sys.stderr)\n"
        "sys.exit(code)"
    )
    base_environment = {name: value for name, value in os.environ.items() if name not in DISPLAYS}
    return python("-c", code, *words, cwd=ROOT, env=base_environment | environment)


@pytest.mark.parametrize(
    "words",
    [
        ["-h"],
        ["--version"],
        ["help", "tune"],
        ["models"],
        ["completion", "bash"],
    ],
    ids=" ".join,
)
def test_help_and_lists_import_no_engine_and_no_qt(words: list[str]) -> None:
    result = start(*words)
    assert result.returncode == 0, result.stderr
    modules = set(result.stderr.rpartition("IMPORTED ")[2].split())
    assert result.stdout
    assert not modules & ENGINES
    assert "shtab" not in modules or words[0] == "completion"
    command_modules = {command.module for command in COMMANDS}
    if words[0] in ("-h", "--version", "models"):
        assert len(modules & command_modules) <= 2, "a command imports its own module"


@pytest.mark.parametrize("topic", [*(one.name for one in COMMANDS), *PAGES])
def test_the_help_of_each_command_and_topic_fits_80_columns(topic: str) -> None:
    code, out, _ = run("help", topic)
    lines = out.splitlines()
    assert code == 0 and len(lines) > 5
    assert max(map(len, lines)) <= 80


def test_without_words_and_without_a_display_the_help_is_an_error() -> None:
    result = start()
    assert result.returncode == 2
    assert not result.stdout
    assert "usage: graphlap COMMAND" in result.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["net.onnx"], ("run", "net.onnx")),
        (["mynet.py:build"], ("run", "mynet.py:build")),
        (["mlp"], ("run", "mlp")),
        (["starter"], ("run", "starter")),
        (["plan.toml"], ("run", "plan.toml")),
        (["measured"], ("show", "measured")),
        (["nets"], ("run", "nets")),
        (["--models", "mlp"], ("open", "--models", "mlp")),
        (["--headless", "--models", "mlp"], ("run", "--models", "mlp")),
        (["--headless", "--plan", "plan.toml"], ("run", "--plan", "plan.toml")),
        (["--headless", "--check", "--models", "mlp"], ("check", "--models", "mlp")),
        (["--headless", "--study=vollo", "--rounds", "3"], ("study", "vollo", "--rounds", "3")),
        (["--headless", "--resume", "a", "--export", "csv"], ("resume", "a", "--export", "csv")),
    ],
    ids=str,
)
def test_words_without_a_command_become_one(
    words: list[str],
    expected: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command_line, "_has_window", lambda: False)
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "manifest.json").touch()
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "a.onnx").touch()
    assert as_command(words) == expected


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["comapre", "a", "b"], "'compare'"),
        (["run", "mlp", "--runtime", "fake"], "'--runtimes'"),
        (["help", "scenario"], "'scenarios'"),
        (["help", "nosuch"], "graphlap help lists them"),
        (["run", "mlp", "--runtimes", "ort"], "'ort-cpu'"),
        (["show", "a", "-f", "jsn"], "'json'"),
    ],
    ids=" ".join,
)
def test_a_misspelt_word_is_answered_with_the_nearest_one(words: list[str], nearest: str) -> None:
    code, _, errors = run(*words)
    assert code == 2 and nearest in errors


def test_scripts_with_headless_read_nothing_new_on_standard_error(tmp_path: Path) -> None:
    """Standard error is no terminal there."""
    graph = str(write_add_graph(tmp_path / "add.onnx"))
    words = ("--models", graph, "--runtimes", "fake", "--preset", "brief", "--rounds", "1")
    result = start("--headless", *words, "--quiet", "--out", str(tmp_path / "run"))
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("IMPORTED"), "no progress, no notes"
    assert result.stdout


def test_a_current_folder_that_was_removed_is_one_sentence(tmp_path: Path) -> None:
    arguments = ["run", "mlp", "--runtimes", "fake"]
    start = (
        "import os, sys; sys.path.insert(0, os.getcwd()); from app.__main__ import main; "
        f"os.chdir({str(tmp_path)!r}); os.rmdir({str(tmp_path)!r}); sys.exit(main({arguments!r}))"
    )
    process = python("-c", start, cwd=ROOT)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.count("graphlap: ") == 1
