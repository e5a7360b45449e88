"""Options without effect are refused where a user gave them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan

BASE = ("--headless", "--models", "mlp", "--runtimes", "ort-cpu")
WITHOUT_EFFECT = {
    "rounds": ("--largest-batch", "--rounds", "5"),
    "tolerance": ("--no-verify-outputs", "--tolerance", "0.1"),
    "idle-policy": ("--idle-policy", "hybrid"),
    "calibration": ("--calibration", "samples.npz"),
    "input-range": ("--inputs", "samples.npz", "--input-range", "x=0:1"),
    "device-memory-limit": ("--device-memory-limit", "1GiB"),
    "percentiles": ("--percentiles", "50,99.99", "--scenario", "ahead:2"),
    "ci-width": ("--ci-width", "p50=5%", "--scenario", "ahead:2"),
    "deadline": ("--deadline", "1ms", "--scenario", "ahead:2,ahead:4"),
    "seed": ("--check", "--seed", "3"),
    "format": ("--format", "json"),
}
WITH_EFFECT = (
    ("--largest-batch",),
    ("--largest-batch", "--preset", "glance"),
    ("--rounds", "5"),
    ("--tolerance", "0.1"),
    ("--no-verify-outputs",),
    ("--idle-policy", "spin"),
    ("--idle-policy", "hybrid", "--scenario", "closed_loop,paced:20us"),
    ("--idle-policy", "hybrid", "--idle-sweep", "20us..1ms"),
    ("--idle-policy", "hybrid", "--slo", "p99=5ms"),
    ("--calibration", "samples.npz", "--precision", "fp32,int8"),
    ("--inputs", "samples.npz", "--input-range", "x=0:1", "--precision", "int8"),
    ("--input-range", "x=0:1"),
    ("--device-memory-limit", "1GiB", "--runtimes", "ort-cpu,ort-cuda"),
    ("--deadline", "1ms", "--scenario", "ahead:2,closed_loop"),
    ("--seed", "3"),
)


def planned(*arguments: str) -> Plan:
    return plan_from_options(parse(arguments))


@pytest.mark.parametrize("flag", WITHOUT_EFFECT)
def test_an_option_without_effect_is_refused_by_its_name(flag: str) -> None:
    with pytest.raises(PlanError) as caught:
        planned(*BASE, *WITHOUT_EFFECT[flag])
    assert f"--{flag}" in caught.value.cause and caught.value.remedy


@pytest.mark.parametrize("arguments", WITH_EFFECT, ids=" ".join)
def test_an_option_with_an_effect_is_taken(arguments: tuple[str, ...]) -> None:
    assert planned(*BASE, *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        WITHOUT_EFFECT["rounds"],
        WITHOUT_EFFECT["tolerance"],
        ("--tune", "p50", "--sort", "p99"),
        ("--baseline", "ort-cpu", "--markdown", "--sort", "p99"),
    ],
    ids=" ".join,
)
def test_the_command_ends_with_2_and_writes_nothing(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*BASE, *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_plan_file_brings_along_what_another_mode_does_not_read(tmp_path: Path) -> None:
    grid = '[[sweeps]]\nmodels = ["mlp"]\nruntimes = ["ort-cpu"]\n'
    (tmp_path / "usual.toml").write_text(f"rounds = 5\ntolerance = 0.1\n{grid}", "utf-8")
    path = str(tmp_path / "usual.toml")
    assert planned("--headless", "--plan", path, "--largest-batch").largest_batch
    assert not planned("--headless", "--plan", path, "--no-verify-outputs").checked
    with pytest.raises(PlanError):
        planned("--headless", "--plan", path, "--largest-batch", "--rounds", "4")


@pytest.mark.parametrize("suite", ["starter", "layers"])
def test_a_suite_is_taken_with_every_mode(suite: str) -> None:
    assert planned("--headless", "--suite", suite, "--no-verify-outputs")
    assert planned("--headless", "--suite", suite, "--largest-batch")
