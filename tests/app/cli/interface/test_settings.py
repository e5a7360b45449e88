"""Calls of the interface: settings, comparing, and what is refused."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from app.analysis.comparison import judge
from app.cases.errors import PlanError
from app.cli.benchmark import load_results
from app.cli.interface.run import compare, run, slo
from app.cli.interface.settings import plan_of
from app.cli.notebook import open as open_run
from app.runs.reader import read_run
from exporters.types import GraphlapError
from tests.app.sweep.sweeps import write_add_graph


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        ({"batch_size": "1,8"}, "batch_size", (1, 8)),
        ({"batch_size": 8}, "batch_size", (8,)),
        ({"batch_size": range(1, 4)}, "batch_size", (1, 2, 3)),
        ({"axes": {"width": 5}}, "axes", {"width": (5,)}),
        ({"options": {"fake.latency_us": 5}}, "options", {"fake.latency_us": (5,)}),
        ({"scenarios": "poisson:200/s"}, "scenarios", ("poisson:200/s",)),
        ({"time_limit_s": "2m"}, "time_limit_s", 120.0),
        ({"ci_width": "p50=1%"}, "precise", {"p50": 0.01}),
        ({"preset": "brief"}, "profile", "brief"),
        ({"verify_outputs": False}, "checked", False),
        ({"inputs": Path("a.npz")}, "inputs", ("a.npz",)),
    ],
)
def test_a_value_becomes_the_plans(settings: dict[str, Any], key: str, value: object) -> None:
    plan, _ = plan_of("run", ["net.onnx"], {"runtimes": "fake", **settings}, {})
    holder = plan if key in type(plan).model_fields else plan.sweeps[0]
    assert getattr(holder, key) == value
    assert plan.sweeps[0].runtimes == ("fake",)


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": [None]},
        {"runtimes": 5},
        {"seed": [1]},
        {"op_times": "yes"},
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


OK, SLOWER = 0, 3
FEW, MANY = 1, 300
"""Nodes of a graph: so far apart as no noise of a machine is."""


@pytest.fixture(autouse=True)
def _work(brief: None, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    monkeypatch.setenv("GRAPHLAP_CONFIG", "none")
    monkeypatch.chdir(tmp_path)


def _measure(nodes: int, out: str, **more: Any) -> Any:
    """A run of a chain of so many nodes, always in the same file."""
    names = ["x", *(f"t{number}" for number in range(nodes - 1)), "y"]
    chain = [
        onnx.helper.make_node("Floor", [first], [second])
        for first, second in itertools.pairwise(names)
    ]
    ends = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [64]) for n in "xy"]
    graph = onnx.helper.make_graph(chain, "chain", ends[:1], ends[1:])
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), "chain.onnx")
    return run("chain.onnx", runtimes="ort-cpu", rounds=3, out=out, **more)


def test_a_slower_run_fails_and_its_files_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests on the other cores are load, of which two runs that were measured apart tell nothing.
    monkeypatch.setattr(judge, "loads_obstruct", lambda *_: False)
    baseline = _measure(FEW, "before")
    assert baseline.exit_code == OK
    slower_run = _measure(MANY, "after", against=baseline, fail_on="slower", export=["json", "csv"])
    assert slower_run.exit_code == SLOWER
    assert Path("after", "results.json").is_file()


@pytest.mark.parametrize(
    "settings",
    [
        {"fail_on": "slower"},
        {"export": "pdf"},
        {"against": 3},
        {"against": "before", "baseline": "ort-cpu"},
        {"against": "nowhere"},
    ],
)
def test_what_can_not_be_compared_is_refused_before_anything_is_written(
    settings: dict[str, Any],
) -> None:
    with pytest.raises(GraphlapError):
        _measure(FEW, "run", **settings)
    assert not Path("run").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda: slo("mlp", None),  # type: ignore[arg-type]
        lambda: run("mlp", out="a\0b"),
        lambda: run("mlp", export=3),  # type: ignore[arg-type]
        lambda: run("mlp", export=[3]),  # type: ignore[list-item]
        lambda: open_run(None),  # type: ignore[arg-type]
        lambda: open_run("a\0b"),
        lambda: load_results(3),  # type: ignore[arg-type]
        lambda: compare("a\0b", "b"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Callable[[], object], tmp_path: Path) -> None:
    with pytest.raises(GraphlapError) as exc_info:
        call()
    assert exc_info.value.remedy
    assert not list(tmp_path.iterdir())


def test_an_interrupt_reaches_the_caller_once_the_run_is_stored(
    brief: None, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    graph = str(write_add_graph(tmp_path / "add.onnx"))

    def interrupt() -> None:
        while len(list((out / "samples").glob("*.bin"))) < 6:  # a set of four is stored
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run(graph, runtimes="fake", threads=[1, 2, 3, 4], rounds=20, out=out)
    stored = read_run(out)
    rounds = sum(len(stored.rounds_of(case)) for case in stored.cases)
    assert 0 < rounds < 4 * 20
    assert (out / "results.csv").is_file()
