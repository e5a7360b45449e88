"""The keyword arguments of `graphlap.run` and the table of settings are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.interface.settings import ARGUMENTS, CheckSettings, RunSettings, plan_of
from app.plan.settings.table import accepted_by


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAPHLAP_CONFIG", "none")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", ["run", "tune", "slo", "check"])
def test_arguments_have_the_names_of_the_settings(command: str) -> None:
    settings = CheckSettings if command == "check" else RunSettings
    names = {row.name for row in accepted_by(command) if row.scope != "command"}
    assert set(settings.__annotations__) == names - set(ARGUMENTS)


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        ({"batch_size": "1,8"}, "batch_size", (1, 8)),
        ({"batch_size": 8}, "batch_size", (8,)),
        ({"batch_size": range(1, 4)}, "batch_size", (1, 2, 3)),
        ({"axes": {"width": 5}}, "axes", {"width": (5,)}),
        ({"options": {"fake.latency_us": 5}}, "options", {"fake.latency_us": (5,)}),
        ({"precisions": ["fp16"]}, "precisions", ("fp16",)),
        ({"scenarios": "poisson:200/s"}, "scenarios", ("poisson:200/s",)),
        ({"threads": None}, "threads", (1,)),
    ],
)
def test_values_of_each_grid(settings: dict[str, Any], key: str, value: object) -> None:
    plan, _ = plan_of("run", ["net.onnx"], {"runtimes": "fake", **settings}, {})
    assert getattr(plan.sweeps[0], key) == value
    assert plan.sweeps[0].runtimes == ("fake",)


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        ({"time_limit_s": "2m"}, "time_limit_s", 120.0),
        ({"budget_s": 30}, "budget_s", 30.0),
        ({"ci_width": "p50=1%"}, "precise", {"p50": 0.01}),
        ({"threshold": 0.05}, "band", 0.05),
        ({"preset": "brief"}, "profile", "brief"),
        ({"verify_outputs": False}, "checked", False),
        ({"inputs": Path("a.npz")}, "inputs", "a.npz"),
    ],
)
def test_values_of_the_whole_plan(settings: dict[str, Any], key: str, value: object) -> None:
    plan, _ = plan_of("run", ["net.onnx"], {"runtimes": "fake", **settings}, {})
    assert getattr(plan, key) == value


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": 1.5},
        {"batch_size": [None]},
        {"runtimes": 5},
        {"runtimes": object()},
        {"rounds": "two"},
        {"seed": [1]},
        {"op_times": "yes"},
        {"axes": {"width": "wide"}},
        {"unknown": 1},
        {"tune": "p99"},
        {"models": ["a.onnx"]},
    ],
)
def test_wrong_values_and_names_are_plan_errors(settings: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        plan_of("run", ["net.onnx"], {"runtimes": "fake", **settings}, {})


def test_a_suite_and_a_plan_file_are_whole_plans(tmp_path: Path) -> None:
    assert plan_of("run", ["starter"], {}, {})[0].name == "starter"
    file = tmp_path / "mine.toml"
    file.write_text('rounds = 7\n[[sweeps]]\nmodels = ["net.onnx"]\nruntimes = ["fake"]\n', "utf-8")
    plan, _ = plan_of("run", [str(file)], {"batch_size": 4}, {})
    assert (plan.rounds, plan.sweeps[0].batch_size) == (7, (4,))
    with pytest.raises(PlanError):
        plan_of("run", ["starter", "net.onnx"], {}, {})


def test_a_configuration_file_gives_what_is_not_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAPHLAP_CONFIG")
    (tmp_path / "graphlap.toml").write_text("rounds = 7\nthreads = [2]\n", "utf-8")
    plan, _ = plan_of("run", ["net.onnx"], {"runtimes": "fake", "threads": 1}, {})
    assert (plan.rounds, plan.sweeps[0].threads) == (7, (1,))
