"""A plan told as a command line or as TOML measures the very same cases."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import app.__main__
from app.cases.errors import PlanError
from app.plan.command import command_line, graphlap_line, program, shell_line, typed_path
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, load_suite, plan_toml, suite_names
from exporters import install_layout
from tests.app.hostile import OF_FILES, steering

SIZES = st.lists(st.integers(1, 64), max_size=3, unique=True)


SWEEPS = st.fixed_dictionaries(
    {
        "models": st.lists(
            st.sampled_from(["cnn_tiny", "lstm_tiny", "lstm_tiny_seq", "mlp"]),
            min_size=1,
            unique=True,
        ).map(lambda names: [*names, "lstm_small_seq"]),
        "runtimes": st.just(["ort-cpu", "fake"]),
        "batch_size": SIZES,
        "sequence_length": SIZES,
        "threads": st.lists(st.integers(0, 8), min_size=1, max_size=2, unique=True),
        "scenarios": st.lists(
            st.sampled_from(["closed_loop", "paced:20us", "paced:1.5ms"]), min_size=1, unique=True
        ),
        "wait_policy": st.sampled_from(["spin", "sleep"]),
        "options": st.sampled_from(
            [
                {},
                {"ort-cpu.memory_arena": [True, False]},
                {"fake.latency_us": [1.5, 100.0], "fake.fail": ["none", "crash"]},
            ]
        ),
    }
)


PLANS = st.builds(
    lambda sweeps, rounds, seed: parse_plan(
        {"name": "p", "sweeps": sweeps, "rounds": rounds, "seed": seed}, "test"
    ),
    st.lists(SWEEPS, min_size=1, max_size=2),
    st.one_of(st.none(), st.integers(1, 20)),
    st.integers(0, 2**40),
)


@pytest.mark.parametrize(
    ("asked", "flags"),
    [({"tolerance": 0.01}, "--tolerance 0.01"), ({"checked": False}, "--no-verify-outputs")],
)
def test_what_is_compared_and_how_is_part_of_the_command(
    asked: dict[str, object], flags: str, tmp_path: Path
) -> None:
    sweeps = [{"models": ["mlp"], "runtimes": ["fake"]}]
    plan = parse_plan({"name": "sweep", "sweeps": sweeps, **asked}, "test")
    line = command_line(plan, tmp_path)
    assert flags in line
    assert plan_from_options(parse(shlex.split(line.partition(" run ")[2]))) == plan


def test_where_it_is_measured_is_part_of_the_command(tmp_path: Path) -> None:
    sweeps = [{"models": ["mlp"], "runtimes": ["fake"]}]
    place = {"cores": "2-5,8", "lock_memory": True, "realtime": 10}
    plan = parse_plan({"name": "sweep", "sweeps": sweeps, **place}, "test")
    line = command_line(plan, tmp_path)
    assert "--cores 2-5,8 --lock-memory --realtime 10" in line
    assert plan_from_options(parse(shlex.split(line.partition(" run ")[2]))) == plan


@pytest.mark.parametrize(
    ("compared", "flags"),
    [
        ({"baseline": "fake", "band": 0.05}, "--baseline fake --threshold 5%"),
        ({"aa": 20}, "--aa 20"),
    ],
)
def test_what_a_case_is_compared_with_is_part_of_the_command(
    tmp_path: Path, compared: dict[str, object], flags: str
) -> None:
    sweeps = [{"models": ["mlp"], "runtimes": ["fake", "ort-cpu"]}]
    plan = parse_plan({"name": "sweep", "sweeps": sweeps, "rounds": 4, **compared}, "test")
    line = command_line(plan, tmp_path)
    assert flags in line
    assert plan_from_options(parse(shlex.split(line.partition(" run ")[2]))) == plan


def _ids(plan: Plan) -> list[str]:
    return [case.case_id for case in expand(plan)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(plan=PLANS)
def test_the_command_line_measures_the_same_cases(plan: Plan, tmp_path: Path) -> None:
    line = command_line(plan, tmp_path).removeprefix(f"{install_layout.PROGRAM} ")
    words = shlex.split(line)
    assert words[0] == "run"
    second = plan_from_options(parse(words))
    assert _ids(second) == _ids(plan)
    assert (second.lengths, second.seed) == (plan.lengths, plan.seed)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(plan=PLANS)
def test_toml_gives_the_same_plan_back(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "p.toml") == plan


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_survives_being_saved(name: str, tmp_path: Path) -> None:
    plan = load_suite(name)
    (tmp_path / "p.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "p.toml") == plan


def test_awkward_paths_survive(tmp_path: Path) -> None:
    plan = parse_plan({"sweeps": [{"models": ['a, "b"\x7f\n/ü.onnx']}]}, "test")
    (tmp_path / "p.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "p.toml").sweeps == plan.sweeps


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


def test_ranges_and_states_survive_a_plan_file(tmp_path: Path) -> None:
    plan = parse_plan(
        {
            "sweeps": [{"models": ["mlp"], "runtimes": ["fake"]}],
            "input_range": {"x.1": [-1, 2.5]},
            "states": {"present": "past"},
            "rotate_inputs": True,
        },
        "test",
    )
    (tmp_path / "plan.toml").write_text(plan_toml(plan))
    again = load_plan(tmp_path / "plan.toml")
    assert again.input_range == {"x.1": (-1.0, 2.5)}
    assert again == plan.model_copy(update={"name": again.name})


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
