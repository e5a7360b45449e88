"""The user's own inputs: several sets are measured in turn, and each run is its set's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, save_model

from app.columns.load import set_runs
from app.runs.reader import read_run
from tests.app.headless.batch import rows, run
from tests.app.headless.own_inputs import save_loop, save_sets
from tests.exporters.support import graph, tensor

QUICK = ("--headless", "--rounds", "1", "--out", "run")


@pytest.fixture
def loop(work: Path) -> Path:
    save_loop(work / "loop.onnx")
    save_sets(work)
    return work


@pytest.mark.parametrize(
    "more",
    [
        ("--runtimes", "ort-cpu,openvino-cpu"),  # which take turns
        ("--runtimes", "ort-cpu", "--condition", "cold:1MB", "--option", "ort-cpu.call=python"),
        (
            *("--runtimes", "ort-cpu", "--scenario", "closed_loop,poisson:500/s,offline"),
            *("--option", "ort-cpu.sessions=2"),
        ),
    ],
    ids=["turns", "python", "lanes"],
)
def test_each_run_is_told_under_the_set_that_it_was_fed(loop: Path, more: tuple[str, ...]) -> None:
    """A run of the slow set can't be as fast as one of another, however busy the machine is."""
    sets = ("--inputs", "quick.npz,slow.npz", "--inputs", "middle.npz")
    code, out, stderr = run(*QUICK, "--models", "loop.onnx", *sets, *more, "--export", "json")
    assert code == 0, stderr
    measured = read_run(loop / "run")
    told = json.loads((loop / "run" / "results.json").read_text())["latency_by_set"]
    for case in measured.cases:
        runs = set_runs(measured, case)
        medians = [item.p50_us or 0.0 for item in runs]
        assert medians == sorted(medians, reverse=True), "the slowest first"
        rounds = measured.rounds_of(case)
        assert sum(len(item.latency_us) for item in runs) == sum(r.iterations for r in rounds)
        (samples,) = map(measured.samples_of, rounds)
        assert samples.shapes is not None
        quick, slow, middle = (
            samples.service_ns[samples.shapes == number].min() for number in range(3)
        )
        assert slow > 2 * middle > 2 * quick
        assert list(told[case.case_id]) == [item.name for item in runs]
    tables = [line for line in out.splitlines() if line.startswith("slow.npz")]
    assert len(tables) == len(measured.cases)


def test_sets_of_other_sizes_are_refused_before_anything_is_measured(work: Path) -> None:
    node = helper.make_node("Neg", ["x"], ["y"])
    save_model(graph([node], [tensor("x", ["n", 2])], [tensor("y", ["n", 2])]), work / "neg.onnx")
    for size in (2, 3):
        np.savez(work / f"{size}.npz", x=np.ones((size, 2), np.float32))
    code, _, stderr = run(*QUICK, "--models", "neg.onnx", "--inputs", "2.npz", "--inputs", "3.npz")
    assert code == 2
    assert "3.npz" in stderr and "n=2" in stderr
    assert not (work / "run").exists()


def test_a_set_in_a_plan_file_may_be_one_text(loop: Path) -> None:
    (loop / "plan.toml").write_text(
        'rounds = 1\ninputs = "slow.npz, quick.npz"\n[[sweeps]]\nmodels = ["loop.onnx"]\n'
        'runtimes = ["ort-cpu"]\n'
    )
    assert run("--headless", "--plan", "plan.toml", "--out", "run")[0] == 0
    (row,) = rows(loop / "run")
    assert (row["user_files"], row["input_sets"]) == ("inputs=slow.npz,quick.npz", "2 sets in turn")


def test_data_beside_the_model_sets_its_sizes_and_the_answer_says_what_was_fed(work: Path) -> None:
    node = helper.make_node("Neg", ["x"], ["y"])
    save_model(graph([node], [tensor("x", ["n", 2])], [tensor("y", ["n", 2])]), work / "neg.onnx")
    np.savez(work / "neg.npz", x=np.ones((5, 2), np.float32))
    folder = work / "mine"
    folder.mkdir()
    np.save(folder / "x.npy", np.ones((3, 2), np.float32))
    arguments = ("--headless", "--rounds", "1", "--models", "neg.onnx", "--runtimes", "ort-cpu")
    for number, (more, size, words) in enumerate(
        [
            ((), "5", "inputs: neg.npz beside the model"),
            (("--batch", "4"), "4", "inputs: drawn"),
            (("--inputs", "mine"), "3", "inputs: mine given"),
        ]
    ):
        code, out, stderr = run(*arguments, *more, "--out", str(number))
        assert code == 0, stderr
        (row,) = rows(work / str(number))
        assert (row["batch_size"], words in out) == (size, True), out
