"""A sweep over environments and releases: each case by the interpreter that it names."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnxruntime
import pytest

from app.__main__ import main
from app.cli.headless import measure
from app.machine.release_environments import environments_folder
from app.plan.plan import parse_plan
from app.present.console.answer.outcome import RunOutput
from app.run_folder.manifest import MANIFEST
from app.sweep.run_creation import create_run
from tests.app.cli.headless.batch import Terminal, launch, rows, run
from tests.app.sweep.sweeps import write_add_graph
from tests.environments import make_environment
from tests.wheels import install_from, write_wheel


@dataclass(frozen=True, slots=True)
class Swept:
    """One run of three environments, that of the tests among them, and what it printed."""

    python: str
    folder: Path
    code: int
    out: str
    rows: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Swept]:
    work = tmp_path_factory.mktemp("environments")
    write_add_graph(work / "add.onnx")
    python = make_environment(work / "there", "numpy", "onnxruntime")
    bare = make_environment(work / "bare", "numpy")
    folder = work / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(cache))
        patch.setenv("COLUMNS", "400")
        code, out, _ = run(
            "--headless", "--models", str(work / "add.onnx"), "--preset", "glance",
            "--runtimes", "ort-cpu,ort-cpu@there,ort-cpu@bare,openvino-cpu@there",
            "--python", f"there={python}", "--python", f"bare={bare}",
            "--baseline", "ort-cpu", "--rounds", "3", "--op-times", "--cold-start", "1",
            "--out", str(folder),
        )  # fmt: skip
        yield Swept(str(python), folder, code, out, {row["runtime"]: row for row in rows(folder)})


def test_an_interpreter_that_goes_while_a_sweep_runs_takes_its_own_cases_alone(work: Path) -> None:
    python = make_environment(work / "there", "numpy", "onnxruntime")
    grid = {"models": ["add.onnx"], "runtimes": ["ort-cpu@there", "ort-cpu"]}
    settings = {"profile": "glance", "rounds": 1, "environments": {"there": str(python)}}
    with create_run(parse_plan({**settings, "sweeps": [grid]}, "a test"), work / "run") as folder:
        python.unlink()
        assert measure(folder, RunOutput(out=io.StringIO(), log=io.StringIO())) == 1
    other_row, plain_row = rows(work / "run")
    assert plain_row["status"] == "ok", plain_row["reason"]
    assert other_row["status"] == "crashed"
    assert f"no start ({python}: No such file or directory)" in other_row["reason"]


def test_a_run_keeps_its_interpreters_and_needs_them(
    swept: Swept, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """What was measured by another one would stand in the same row."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    plan = json.loads((swept.folder / MANIFEST).read_text())["plan"]
    assert plan["environments"]["there"] == swept.python
    code, _, _ = run("resume", str(swept.folder))
    assert code == 0
    shutil.move(swept.python, f"{swept.python}-gone")
    again = swept.folder.with_name("again")
    repeat_command = ("--headless", "--plan", str(swept.folder), "--out", str(again))
    for arguments in (("resume", str(swept.folder)), repeat_command):
        process = launch(*arguments)  # this one has asked its environments before
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 2
        assert f"'there' has no interpreter at {swept.python}" in errors
    assert not again.exists()
    shutil.move(f"{swept.python}-gone", swept.python)


RELEASE = ".".join(onnxruntime.__version__.split(".")[:2])
SPEC = f"ort-cpu@{RELEASE}"
MEASURED = ("run", "add.onnx", "--runtimes", SPEC, "--rounds", "1", "--out", "out")


@pytest.fixture
def wheels(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index that has this engine alone, and a cache without environments."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "wheels"
    folder.mkdir()
    install_from(folder, monkeypatch)
    write_wheel(folder, "onnxruntime", onnxruntime.__version__)
    write_wheel(folder, "numpy", "2.1.0")
    return folder


def answer(monkeypatch: pytest.MonkeyPatch, answer_text: str) -> Terminal:
    """Let somebody type this; what is asked is in the terminal that is given back."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer_text))
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.mark.usefixtures("wheels")
def test_without_a_terminal_the_command_that_installs_is_named(work: Path) -> None:
    code, _, errors = run(*MEASURED)
    assert code == 2
    assert f"--runtimes {SPEC}" in errors and "--install" in errors
    assert not (work / "out").exists() and not environments_folder().exists()


def test_rows_say_which_engine_their_process_really_loaded(swept: Swept) -> None:
    plain_row, other_row = swept.rows["ort-cpu"], swept.rows["ort-cpu@there"]
    assert (plain_row["status"], other_row["status"]) == ("ok", "ok"), swept.rows
    assert (plain_row["environment"], other_row["environment"]) == ("", "there")
    site = str(Path(swept.python).parents[1])
    assert other_row["engine_path"].startswith(site)
    assert not plain_row["engine_path"].startswith(site)
    assert other_row["engine_distribution"] == plain_row["engine_distribution"] != ""
    assert other_row["runtime_version"] == plain_row["runtime_version"] != ""
    assert other_row["call_path"] == plain_row["call_path"], "one loop times both sides"
    assert other_row["baseline_case_id"] == plain_row["case_id"]
    assert other_row["baseline_p50_verdict"] in ("faster", "slower", "same", "undecided")
    assert "ort-cpu@there" in swept.out
    assert other_row["cold_processes"] == "1"
    for row in (plain_row, other_row):
        assert "Add" in (swept.folder / "operators" / f"{row['case_id']}.csv").read_text()
    for name, package in (("ort-cpu@bare", "onnxruntime"), ("openvino-cpu@there", "openvino")):
        row = swept.rows[name]
        assert row["status"] == "unavailable"
        assert f"bin/python -m pip install {package}" in row["reason"]
        assert row["environment"] == name.partition("@")[2]
    assert swept.code == 0


def test_a_person_is_asked_and_the_environment_is_made_once_and_used_again(
    work: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = answer(monkeypatch, "\n")
    assert main(MEASURED) == 2
    assert f"onnxruntime=={RELEASE}.*" in terminal.getvalue()
    assert not environments_folder().exists()
    answer(monkeypatch, "y\n")
    assert main(MEASURED) == 0
    (row,) = rows(work / "out")
    assert (row["status"], row["environment"]) == ("ok", RELEASE)
    assert row["runtime_version"] == onnxruntime.__version__
    (environment,) = environments_folder().iterdir()
    (environment / "bin" / "python").unlink()
    answer(monkeypatch, "")
    monkeypatch.setattr(sys, "stdin", None)
    code, _, errors = run("resume", "out")
    assert code == 2 and "--install" in errors
    assert run("resume", "out", "--install")[0] == 0, "the rest of a run needs it again"
    for wheel in wheels.iterdir():
        wheel.unlink()
    code, _, errors = run("run", "out", "--out", "again")
    assert code == 0, errors
    (again,) = rows(work / "again")
    assert again["case_id"] == row["case_id"]
    assert list(environments_folder().iterdir()) == [environment]
