"""What a plan or flags ask for is what is measured: options, inputs, state, types, searches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import save_model

from app.cases.column import pairs_in
from app.workers.execution_facts import precision_diagnostics
from exporters.types import ExportedModel
from runtimes.execution import Execution
from runtimes.onnxruntime.runtime import OrtCpu
from tests.app.cli.headless.batch import rows, run
from tests.exporters.support import model_of


def test_rows_tell_all_options_and_a_spelled_out_default_is_no_other_case(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu", "--rounds", "1")
    option = "ort-cpu.graph_optimization=all,off"
    code, out, _ = run(*base, "--option", option, "--out", "one")
    assert code == 0
    (work / "plan.toml").write_text(
        'rounds = 1\n[[sweeps]]\nmodels = ["add.onnx"]\nruntimes = ["ort-cpu"]\n'
        "[sweeps.options.ort-cpu]\n"
        'graph_optimization = ["all", "off"]\nintra_op_spinning = [true]\n'
    )
    assert run("--headless", "--plan", "plan.toml", "--out", "two")[0] == 0
    first_rows, two = rows(work / "one"), rows(work / "two")
    assert [row["case_id"] for row in first_rows] == [row["case_id"] for row in two]
    assert [row["options"] for row in first_rows] == [row["options"] for row in two]
    plain, off = (pairs_in(row["options"]) for row in first_rows)
    assert plain["graph_optimization"] == "all"
    assert {name for name in plain if plain[name] != off[name]} == {"graph_optimization"}
    assert set(plain) == {option.name for option in OrtCpu().options}
    assert "graph_optimization=off" in out
    assert "memory_arena" not in out, "people are told what differs"


@pytest.mark.parametrize(
    ("asked", "narrowest", "executed", "warns"),
    [
        ("fp32", "fp32", "fp16", True),
        ("fp32", "int8", "int8+fp16", True),
        ("int8", "int8", "fp32", True),
        ("fp32", "fp32", "integer", False),
        ("fp32", "int8", "int8+fp32", False),
    ],
)
def test_another_type_than_the_files_is_warned_of(
    asked: str, narrowest: str, executed: str, warns: bool
) -> None:
    model = ExportedModel(
        name="m", suite="", family="", path="", sha256="", opset=17,
        precision=asked, inputs=(), outputs=(), axes={}, references={}, reference="",  # type: ignore[arg-type]
        narrowest=narrowest,
    )  # fmt: skip
    assert bool([*precision_diagnostics(model, Execution("p", executed, "d", "c"))]) == warns


QUICK = ("--headless", "--rounds", "1", "--out", "run")


@pytest.fixture
def step(work: Path) -> Path:
    """y = x + h, and h' = y."""
    path = work / "step.onnx"
    text = """(float[batch,3] x, float[batch,3] h) => (float[batch,3] y, float[batch,3] next)
    { y = Add(x, h) next = Identity(y) }"""
    save_model(model_of(text), path)
    return path


def test_several_files_are_fed_in_turn_and_a_card_says_that_it_cannot(
    step: Path, work: Path
) -> None:
    for name, value in (("a", 1.0), ("b", 2.0)):
        arrays = {key: np.full((2, 3), value, np.float32) for key in ("x", "h")}
        np.savez(work / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    arguments = ("--models", "step.onnx", "--inputs", "a.npz,b.npz")
    run(*QUICK, *arguments, "--save-inputs", "--runtimes", "ort-cpu,fpga:v80")
    on_cpu, on_card = rows(work / "run")
    assert (on_cpu["status"], on_cpu["batch_size"]) == ("ok", "2")
    assert on_cpu["user_files"] == "inputs=a.npz,b.npz"
    assert on_card["status"] == "unsupported"
    assert "give --inputs one set" in on_card["reason"]
    with np.load(sorted((work / "run" / "inputs").iterdir())[0]) as second:
        assert second["x"][0, 0] == 2.0


def test_a_files_own_state_is_fed_back(step: Path, work: Path) -> None:
    arguments = ("--models", "step.onnx", "--batch", "1", "--runtimes", "ort-cpu")
    assert run(*QUICK, *arguments, "--state", "next=h")[0] == 0
    (row,) = rows(work / "run")
    assert (row["status"], row["user_files"]) == ("ok", "states=next:h")
    _, out, _ = run("--headless", *arguments, "--state", "nxt=h", "--rounds", "1", "--out", "two")
    assert "has no output 'nxt', which --state names: did you mean 'next'?" in out


def test_drawn_inputs_are_told_rotated_and_kept(step: Path, work: Path) -> None:
    arguments = ("--models", "step.onnx", "--batch", "1", "--runtimes", "ort-cpu")
    code, _, errors = run(
        *(*QUICK, *arguments, "--input-range", "x=2:3", "--rotate-inputs", "--save-inputs")
    )
    assert code == 0, errors
    (row,) = rows(work / "run")
    assert (row["status"], row["inputs_drawn"]) == ("ok", "x 2..3, h normal")
    assert (row["user_files"], row["input_sets"]) == (
        "input_range=x:2:3 rotated",
        "8 sets in turn",
    )
    sets = [np.load(file)["x"] for file in (work / "run" / "inputs").iterdir()]
    assert {x.shape for x in sets} == {(1, 3)} and len({x.tobytes() for x in sets}) == 8
    assert all(2 <= x.min() <= x.max() <= 3 for x in sets)


def test_a_state_that_grows_is_refused(work: Path) -> None:
    text = "(float[1,1] x, float[1,n] past) => (float[1,m] present)"
    save_model(model_of(f"{text} {{ present = Concat <axis = 1> (past, x) }}"), work / "cache.onnx")
    arguments = ("--models", "cache.onnx", "--axis", "n=4", "--runtimes", "ort-cpu")
    run(*QUICK, *arguments, "--state", "present=past")
    (row,) = rows(work / "run")
    assert row["status"] == "export_failed" and "'present'" in row["reason"]
