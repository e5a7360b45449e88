"""`--overhead` as a user has it: twins beside the models, and what is left of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.headless.batch import FAKE, kill, launch, rows, run, samples_of, wait_for_rounds

pytestmark = pytest.mark.usefixtures("exported")

SHORT = ("--headless", "--rounds", "1")
INTERVAL = ("--rounds", "3")
"""So many rounds have one."""


def by_name(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    return {(row["model"], row["runtime"]): row for row in rows(folder)}


def test_a_model_minus_its_twin_is_its_compute_with_its_interval(work: Path) -> None:
    code, out, errors = run(
        *SHORT, "--models", "mlp", "--runtimes", "ort-cpu", "--overhead", "--batch", "64",
        *INTERVAL, "--out", "run",
    )  # fmt: skip
    assert code == 0, errors
    model = with_its_twin(by_name(work / "run"), "ort-cpu")
    low, compute, high = (
        float(model[f"compute_p50_{name}us"]) for name in ("ci_low_", "", "ci_high_")
    )
    assert low < compute < high
    assert "model minus null" in out
    assert "null(mlp)" not in out, "a no-op copy is no contender"


@pytest.mark.rare
def test_each_runtime_has_a_twin_of_a_model_of_the_catalogue(work: Path) -> None:
    code, _, errors = run(
        *SHORT, "--models", "mlp", "--runtimes", "openvino-cpu,torch-cpu", "--overhead",
        "--batch", "64", "--out", "run",
    )  # fmt: skip
    assert code == 0, errors
    for runtime in ("openvino-cpu", "torch-cpu"):
        with_its_twin(by_name(work / "run"), runtime)


def with_its_twin(
    rows_by_name: dict[tuple[str, str], dict[str, str]], runtime: str
) -> dict[str, str]:
    """The model's row on this runtime, whose figures are those of both."""
    model, twin = rows_by_name["mlp", runtime], rows_by_name["null(mlp)", runtime]
    assert (model["status"], twin["status"]) == ("ok", "ok")
    assert twin["output_ok"] == "true"
    assert model["overhead_case_id"] == twin["case_id"]
    assert model["overhead_p50_us"] == twin["latency_p50_us"]
    assert model["overhead_p99_us"] == twin["latency_p99_us"]
    assert 0.0 < float(twin["latency_p50_us"]) < float(model["latency_p50_us"])
    both = float(model["latency_p50_us"]) - float(model["overhead_p50_us"])
    assert float(model["compute_p50_us"]) == pytest.approx(both)
    assert not twin["compute_p50_us"]
    assert (twin["parameters"], twin["macs"]) == ("0", "0")
    return model


def test_a_runtime_that_does_not_take_the_twin_says_so_in_its_row(work: Path) -> None:
    """A user's file has no torch module behind it, nor has its twin."""
    models = ("--models", "add.onnx", "--runtimes", "ort-cpu,torch-cpu")
    code, out, _ = run(*SHORT, *models, "--overhead", "--out", "run")
    assert code == 0
    rows_by_name = by_name(work / "run")
    assert rows_by_name["null(add.onnx)", "torch-cpu"]["status"] == "unsupported"
    assert rows_by_name["add.onnx", "torch-cpu"]["compute_missing_reason"].startswith(
        "it is unsupported: "
    )
    assert rows_by_name["add.onnx", "ort-cpu"]["compute_p50_us"]
    assert "no compute of add · torch-cpu: it is unsupported" in out


def test_an_int8_model_has_a_twin_of_what_goes_in_and_out_of_it(work: Path) -> None:
    code, _, errors = run(
        *SHORT, "--models", "mlp", "--runtimes", "ort-cpu", "--precision", "int8", "--overhead",
        "--out", "run",
    )  # fmt: skip
    assert code == 0, errors
    twin = by_name(work / "run")["null(mlp)", "ort-cpu"]
    assert (twin["status"], twin["precision_requested"], twin["precision"]) == (
        "ok",
        "int8",
        "fp32",
    )
    assert "precision_changed" not in twin["warning_codes"]


@pytest.mark.rare
def test_a_resumed_run_measures_the_twins_that_it_lacks(work: Path) -> None:
    process = launch(*SHORT, *INTERVAL, "--models", "add.onnx", *FAKE, "--overhead", "--out", "run")
    wait_for_rounds(work / "run", 3, process)
    kill(process, work / "run")
    samples_before = samples_of(work / "run")
    code, out, _ = run("resume", "run")
    assert code == 0
    samples_after = samples_of(work / "run")
    assert len(samples_after) == 6 and samples_before.items() <= samples_after.items()
    assert by_name(work / "run")["add.onnx", "fake"]["compute_p50_us"]
    assert "model minus null" in out


def test_a_model_that_is_no_graph_has_no_twin_either(work: Path) -> None:
    (work / "bad.onnx").write_bytes(b"no graph")
    code, _, _ = run(*SHORT, "--models", "bad.onnx", *FAKE, "--overhead", "--out", "run")
    assert code == 1
    rows_by_name = by_name(work / "run")
    assert {row["status"] for row in rows_by_name.values()} == {"export_failed"}
    assert len(rows_by_name) == 2


@pytest.mark.rare
def test_what_comes_after_the_rounds_is_of_models_alone(work: Path) -> None:
    code, out, _ = run(
        *SHORT, "--models", "add.onnx", "--runtimes", "ort-cpu", "--overhead", "--op-times",
        "--out", "run",
    )  # fmt: skip
    assert code == 0
    assert "operators of add.onnx" in out and "operators of null(" not in out
