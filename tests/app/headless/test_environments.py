"""A sweep over environments as a user starts it: each case by the interpreter that it names."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.headless import measure
from app.plan.plan import parse_plan
from app.run_folder.manifest import MANIFEST
from app.sweep.run_creation import create_run
from tests.app.headless.batch import launch, rows, run
from tests.app.sweep.sweeps import write_add_graph
from tests.environments import make_environment

OTHER = os.environ.get("GRAPHLAP_OTHER_ORT", "")
"""An interpreter with another release of ONNX Runtime than this one's, and numpy."""


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


def test_a_row_says_which_engine_its_process_really_loaded(swept: Swept) -> None:
    plain_row, other_row = swept.rows["ort-cpu"], swept.rows["ort-cpu@there"]
    assert (plain_row["status"], other_row["status"]) == ("ok", "ok"), (
        plain_row["reason"] + other_row["reason"]
    )
    assert (plain_row["environment"], other_row["environment"]) == ("", "there")
    site = str(Path(swept.python).parents[1])
    assert other_row["engine_path"].startswith(site) and not plain_row["engine_path"].startswith(
        site
    )
    assert other_row["engine_distribution"] == plain_row["engine_distribution"] != ""
    assert other_row["runtime_version"] == plain_row["runtime_version"] != ""


def test_the_loop_in_c_times_both_sides_of_a_comparison(swept: Swept) -> None:
    paths = {swept.rows[name]["call_path"] for name in ("ort-cpu", "ort-cpu@there")}
    assert len(paths) == 1


def test_an_engine_that_is_not_there_is_a_row_with_what_installs_it(swept: Swept) -> None:
    for name, package in (("ort-cpu@bare", "onnxruntime"), ("openvino-cpu@there", "openvino")):
        row = swept.rows[name]
        assert row["status"] == "unavailable"
        assert f"bin/python -m pip install {package}" in row["reason"]
        assert row["environment"] == name.partition("@")[2]
    assert swept.code == 0


def test_environments_are_compared_round_by_round(swept: Swept) -> None:
    other_row = swept.rows["ort-cpu@there"]
    assert other_row["baseline_case_id"] == swept.rows["ort-cpu"]["case_id"]
    assert other_row["baseline_p50_verdict"] in ("faster", "slower", "same", "undecided")
    assert "ort-cpu@there" in swept.out


def test_operators_and_cold_starts_are_of_the_environment_too(swept: Swept) -> None:
    assert swept.rows["ort-cpu@there"]["cold_processes"] == "1"
    ops = {
        case: (swept.folder / "operators" / f"{swept.rows[case]['case_id']}.csv").read_text()
        for case in ("ort-cpu", "ort-cpu@there")
    }
    assert all("Add" in operators for operators in ops.values()), ops


def test_a_check_compiles_where_the_case_would_run(work: Path) -> None:
    python = make_environment(work / "there", "numpy", "onnxruntime")
    run(
        "check", "--models", "add.onnx", "--out", "run", "--runtimes",
        "ort-cpu@there,openvino-cpu@there", "--python", f"there={python}",
    )  # fmt: skip
    compiled_row, lacking = rows(work / "run")
    assert compiled_row["status"] == "compiles" and lacking["status"] == "unavailable"
    assert compiled_row["engine_path"].startswith(str(work / "there"))
    assert f"{python} -m pip install openvino" in lacking["reason"]


def test_an_interpreter_that_goes_while_a_sweep_runs_takes_its_own_cases_alone(work: Path) -> None:
    python = make_environment(work / "there", "numpy", "onnxruntime")
    grid = {"models": ["add.onnx"], "runtimes": ["ort-cpu@there", "ort-cpu"]}
    settings = {"profile": "glance", "rounds": 1, "environments": {"there": str(python)}}
    with create_run(parse_plan({**settings, "sweeps": [grid]}, "a test"), work / "run") as folder:
        python.unlink()
        assert measure(folder, out=io.StringIO(), log=io.StringIO()) == 1
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


@pytest.mark.skipif(not OTHER, reason="GRAPHLAP_OTHER_ORT names no other ONNX Runtime")
def test_two_releases_are_compared_in_one_sweep(work: Path) -> None:
    code, _, _ = run(
        "--headless", "--models", "add.onnx", "--runtimes", "ort-cpu,ort-cpu@other",
        "--python", f"other={OTHER}", "--baseline", "ort-cpu", "--preset", "glance",
        "--rounds", "3", "--out", "run",
    )  # fmt: skip
    plain_row, other_row = rows(work / "run")
    ask = [OTHER, "-c", "import onnxruntime; print(onnxruntime.__version__)"]
    output = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    assert other_row["runtime_version"] == output != plain_row["runtime_version"]
    assert code == 0 and other_row["baseline_p50_verdict"]
