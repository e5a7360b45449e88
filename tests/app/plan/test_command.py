"""A plan told as a command line or as TOML measures the very same cases."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import app.__main__
from app.cases.errors import PlanError
from app.plan.command import command_line, program, shell_line
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, load_suite, plan_toml
from tests.app.hostile import OF_FILES, steering


def test_a_huge_plan_gets_a_file_without_being_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.plan.command.expand", lambda _: pytest.fail("it was expanded"))
    sizes = list(range(1, 2001))
    sweep = {"models": ["mlp"], "runtimes": ["fake"], "batch_size": sizes, "threads": sizes}
    plan = parse_plan({"sweeps": [sweep]}, "test")
    words = shlex.split(command_line(plan, tmp_path))
    assert load_plan(Path(words[-1])).sweeps == plan.sweeps


def test_a_name_that_is_no_text_is_refused_a_plan_file_in_one_sentence() -> None:
    plan = parse_plan({"sweeps": [{"models": [os.fsdecode(b"bad\xff.onnx")]}]}, "the plan")
    with pytest.raises(PlanError, match=r"'bad\\udcff\.onnx' is no UTF-8 text"):
        plan_toml(plan)


def script_at(folder: Path) -> Path:
    """A program called graphlap in this folder."""
    folder.mkdir(parents=True)
    file = folder / "graphlap"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("place", "searched", "folder", "expected"),
    [
        ("bin", "bin", "elsewhere", "graphlap"),
        ("work/.venv/bin", "elsewhere", "work", ".venv/bin/graphlap"),
        ("here", "", "here", "./graphlap"),
    ],
)
def test_a_program_goes_by_what_a_shell_in_that_folder_calls_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    searched: str,
    folder: str,
    expected: str,
) -> None:
    script_at(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "argv", [str(script_at(tmp_path / place))])
    monkeypatch.setenv("PATH", str(tmp_path / searched) if searched else "")
    monkeypatch.chdir(tmp_path / folder)
    assert program() == (expected,)
    if place != "here":
        monkeypatch.chdir(tmp_path)
        assert program(shell_folder=tmp_path / folder) == (expected,), "the run changed its folder"


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
    (tmp_path / "graphlap.egg-info").mkdir()
    (tmp_path / "graphlap.egg-info" / "PKG-INFO").write_text("Name: graphlap\nVersion: 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert program() == ("graphlap",), "a wheel was built in the current folder"
    script_at(tmp_path / "other" / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "other" / "bin"))
    assert program()[-2:] == ("-m", "app")


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


def told(*arguments: str) -> Plan:
    return plan_from_options(parse(arguments))


def test_what_is_not_said_is_left_to_the_plan() -> None:
    assert told("--models", "mlp") == parse_plan({"sweeps": [{"models": ["mlp"]}]}, "test")
    assert told("--suite", "starter") == load_suite("starter")


def test_a_flag_replaces_a_suites_list_in_each_of_its_grids_and_nothing_else() -> None:
    suite, plan = load_suite("starter"), told("--suite", "starter", "--batch", "4", "--seed", "9")
    assert len(suite.sweeps) > 1
    assert [sweep.batch_size for sweep in plan.sweeps] == [(4,)] * len(suite.sweeps)
    assert [sweep.scenarios for sweep in plan.sweeps] == [s.scenarios for s in suite.sweeps]
    assert [sweep.models for sweep in plan.sweeps] == [s.models for s in suite.sweeps]
    assert (plan.seed, plan.name) == (9, suite.name)


def test_models_named_beside_a_suite_are_kept_of_it_with_their_grids() -> None:
    plan = told("--suite", "starter", "--models", "mlp")
    assert {sweep.models for sweep in plan.sweeps} == {("mlp",)}
