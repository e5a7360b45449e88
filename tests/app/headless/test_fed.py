"""What a model is fed: drawn in a range, fed in turn, kept in the folder, fed back as state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, save_model

from tests.app.headless.batch import rows, run
from tests.exporters.support import graph, tensor

QUICK = ("--headless", "--rounds", "1", "--out", "run")


@pytest.fixture
def step(work: Path) -> Path:
    """y = x + h, and h' = y."""
    nodes = [
        helper.make_node("Add", ["x", "h"], ["y"]),
        helper.make_node("Identity", ["y"], ["next"]),
    ]
    shape: list[int | str | None] = ["batch", 3]
    takes = [tensor(name, shape) for name in ("x", "h")]
    gives = [tensor(name, shape) for name in ("y", "next")]
    path = work / "step.onnx"
    save_model(graph(nodes, takes, gives), path)
    return path


@pytest.mark.rare
def test_drawn_inputs_are_told_rotated_and_kept(step: Path, work: Path) -> None:
    code, _, stderr = run(
        *(*QUICK, "--models", "step.onnx", "--batch", "1,2", "--runtimes", "ort-cpu,openvino-cpu"),
        *("--input-range", "x=2:3", "--rotate-inputs", "--save-inputs", "--option"),
        "ort-cpu.sessions=1,2",
    )
    assert code == 0, stderr
    table = rows(work / "run")
    assert {row["status"] for row in table} == {"ok"}
    assert {row["inputs_drawn"] for row in table} == {"x 2..3, h normal"}
    assert {row["user_files"] for row in table} == {"input_range=x:2:3 rotated"}
    assert {row["input_sets"] for row in table} == {"8 sets in turn"}
    assert {row["preset"] for row in table} == {"quick"}
    files = sorted((work / "run" / "inputs").iterdir())
    assert len(files) == 2 * 8
    with np.load(files[0]) as first, np.load(files[1]) as second:
        assert sorted(first.files) == ["h", "x"]
        assert first["x"].shape == (1, 3)
        assert 2 <= first["x"].min() <= first["x"].max() <= 3
        assert not np.array_equal(first["x"], second["x"])


def test_several_files_are_fed_in_turn_and_a_card_says_that_it_cannot(
    step: Path, work: Path
) -> None:
    for name, value in (("a", 1.0), ("b", 2.0)):
        arrays = {key: np.full((2, 3), value, np.float32) for key in ("x", "h")}
        np.savez(work / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    arguments = ("--models", "step.onnx", "--inputs", "a.npz,b.npz")
    code, _, stderr = run(*QUICK, *arguments, "--runtimes", "ort-cpu")
    assert code == 2
    assert "--inputs names several sets of inputs, and one is used: add --rotate-inputs" in stderr
    run(*QUICK, *arguments, "--rotate-inputs", "--save-inputs", "--runtimes", "ort-cpu,fpga:v80")
    on_cpu, on_card = rows(work / "run")
    assert (on_cpu["status"], on_cpu["batch_size"]) == ("ok", "2")
    assert on_cpu["user_files"] == "inputs=a.npz,b.npz rotated"
    assert on_card["status"] == "unsupported"
    assert "remove --rotate-inputs" in on_card["reason"]
    with np.load(sorted((work / "run" / "inputs").iterdir())[0]) as second:
        assert second["x"][0, 0] == 2.0


def test_a_files_own_state_is_fed_back(step: Path, work: Path) -> None:
    arguments = ("--models", "step.onnx", "--batch", "1", "--runtimes", "ort-cpu")
    assert run(*QUICK, *arguments, "--state", "next=h")[0] == 0
    (row,) = rows(work / "run")
    assert (row["status"], row["user_files"]) == ("ok", "states=next:h")
    _, out, _ = run("--headless", *arguments, "--state", "nxt=h", "--rounds", "1", "--out", "two")
    assert "has no output 'nxt', which --state names: did you mean 'next'?" in out


def test_a_state_that_grows_is_refused_in_one_sentence(work: Path) -> None:
    nodes = [helper.make_node("Concat", ["past", "x"], ["present"], axis=1)]
    takes = [tensor("x", [1, 1]), tensor("past", [1, "n"])]
    save_model(graph(nodes, takes, [tensor("present", [1, "m"])]), work / "cache.onnx")
    _, out, _ = run(
        *(*QUICK, "--models", "cache.onnx", "--axis", "n=4", "--runtimes", "ort-cpu"),
        *("--state", "present=past"),
    )
    assert "the output 'present' of cache.onnx is float32 [1, 5] and cannot become" in out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--input-range", "x=3"), "--input-range x=3 is no range: write it as 0:1"),
        (("--input-range", "x=3:1"), "begins above its end"),
        (("--state", "next"), "--state 'next' can't be understood"),
    ],
)
def test_what_cannot_be_understood_is_refused_before_anything_is_written(
    step: Path, work: Path, flags: tuple[str, ...], words: str
) -> None:
    code, _, stderr = run(*QUICK, "--models", "step.onnx", "--batch", "1", *flags)
    assert code == 2
    assert words in stderr
    assert not (work / "run").exists()
