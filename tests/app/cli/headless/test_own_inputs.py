"""The user's own inputs: several sets are measured in turn, and each run is its set's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import save_model

from app.analysis.columns.load import set_runs
from app.runs.reader import read_run
from tests.app.cli.headless.batch import rows, run
from tests.exporters.support import model_of

TRIPS = {"quick": 1, "slow": 80, "middle": 12}
"""How often each set has the loop run."""
SIDE = 16
NEG = "(float[n,2] x) => (float[n,2] y) { y = Neg(x) }"


def save_loop(path: Path) -> None:
    """`n` times a product of two matrices."""
    text = """(int64 n, float[16,16] x) => (float[16,16] y) { y = Loop <body = body
    (int64 i, bool go, float[16,16] a) => (bool still, float[16,16] next)
    { next = MatMul(a, w) still = Identity(go) }> (n, true, x) }"""
    constants = {"w": np.eye(SIDE, dtype=np.float32), "true": np.array(True)}
    save_model(model_of(text, constants), path)


QUICK = ("--headless", "--rounds", "1", "--out", "run")


@pytest.fixture
def loop(work: Path) -> Path:
    save_loop(work / "loop.onnx")
    for name, trips in TRIPS.items():
        arrays = {"n": np.array(trips), "x": np.ones((SIDE, SIDE), np.float32)}
        np.savez(work / f"{name}.npz", **arrays)  # type: ignore[arg-type]
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
    save_model(model_of(NEG), work / "neg.onnx")
    for size in (2, 3):
        np.savez(work / f"{size}.npz", x=np.ones((size, 2), np.float32))
    code, _, stderr = run(*QUICK, "--models", "neg.onnx", "--inputs", "2.npz", "--inputs", "3.npz")
    assert code == 2
    assert "3.npz" in stderr and "n=2" in stderr
    assert not (work / "run").exists()


def test_data_beside_the_model_sets_its_sizes_and_the_answer_says_what_was_fed(work: Path) -> None:
    save_model(model_of(NEG), work / "neg.onnx")
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
