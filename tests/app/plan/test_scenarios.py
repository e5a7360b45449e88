"""Deadlines, ranges of gaps, rates and conditions of a plan: understood, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.cases.scenario import Batcher
from app.formatting.case_labels import labels
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand, reject_without_gaps
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.sweep.scheduling.round_jobs import points
from tests.app.sweep.sweeps import write_add_graph


def modelled(*flags: str) -> Plan:
    return plan_from_options(parse(["--models", "mlp", *flags]))


def plan_of(*flags: str) -> Plan:
    return modelled("--runtimes", "fake", *flags)


@pytest.mark.parametrize(
    "flags",
    [
        ("--scenario", "rate:9/s", "--preset", "publication"),
        ("--scenario", "rate:9/s", "--runtimes", "fpga:v80"),
        ("--scenario", "rate:10/s"),
    ],
)
def test_what_a_longer_round_or_a_simulated_one_has_enough_of_is_measured(
    flags: tuple[str, ...],
) -> None:
    assert len(expand(plan_of("--preset", "glance", *flags))) == 1


def test_gaps_come_after_the_scenarios_that_are_asked_for() -> None:
    """A picture of fewer than three is refused before anything is measured."""
    written_out = plan_of("--scenario", "closed_loop,paced:1ms,paced:2ms,paced:4ms")
    short = plan_of("--scenario", "closed_loop", "--idle-sweep", "1ms..4ms")
    assert expand(short) == expand(written_out)
    reject_without_gaps(short)
    with pytest.raises(PlanError, match=r"fewer than three: add --idle-sweep 20us\.\.1s"):
        reject_without_gaps(plan_of("--idle-sweep", "1ms..2ms", "--scenario", "closed_loop"))


def test_a_neighbour_of_unknown_sizes_is_refused(tmp_path: Path) -> None:
    open_sizes = write_add_graph(tmp_path / "open.onnx", ("n", 3))
    path = write_add_graph(tmp_path / "fixed.onnx")
    (case,) = expand(plan_of("--condition", f"with:{path}"))
    assert case.condition.model == str(path)
    with pytest.raises(PlanError, match="no single model whose sizes are all known: name one of"):
        expand(plan_of("--condition", f"with:{open_sizes}"))


SEVERAL = ["max=8,wait=2ms", "max=3,wait=0us", "none"]


def batcher_plan(**grid: Any) -> Plan:
    usual = {"models": ["mlp"], "runtimes": ["fake"], "scenarios": ["poisson:200/s"]}
    return parse_plan({"name": "sweep", "sweeps": [{**usual, **grid}]}, "the plan")


def test_several_batchers_are_cases_of_their_own_and_their_labels_tell_them_apart() -> None:
    cases = expand(batcher_plan(batcher=SEVERAL))
    assert [case.batcher for case in cases] == [Batcher(8, 2000.0), Batcher(3, 0.0), None]
    assert {case.axes["batch"] for case in cases} == {1}
    assert [label.rpartition(" · ")[2] for label in labels(cases).values()] == [
        "batcher max=8,wait=2ms",
        "batcher max=3,wait=0us",
        "no batcher",
    ]


def test_a_model_is_exported_for_every_batch_that_is_sent() -> None:
    with_batcher, plain_case = expand(batcher_plan(batcher=["max=6,wait=1ms", "none"]))
    assert [point["batch"] for point in points(with_batcher)] == [1, 2, 4, 6]
    assert [point["batch"] for point in points(plain_case)] == [1]


def test_a_search_begins_without_a_batcher() -> None:
    grid = {"models": ["mlp"], "runtimes": ["fake"], "batcher": ["max=8,wait=2ms", "none"]}
    (case,) = expand(parse_plan({"slo": "p99=5ms", "sweeps": [grid]}, "the plan"))
    assert (case.batcher, case.axes["batch"]) == (None, 1)


def test_a_model_whose_batch_is_fixed_is_named(tmp_path: Path) -> None:
    path = write_add_graph(tmp_path / "fixed.onnx", (2, 3))
    with pytest.raises(PlanError, match=r"fixed\.onnx has no open batch axis"):
        expand(batcher_plan(models=["mlp", str(path)], batcher=["max=8,wait=2ms"]))


def test_they_are_short_for_sessions_of_every_runtime_and_offline() -> None:
    both = ("--runtimes", "ort-cpu,openvino-cpu")
    short = modelled(*both, "--replicas", "4,2")
    sessions = ("--option", "ort-cpu.sessions=1,2,4", "--option", "openvino-cpu.sessions=1,2,4")
    assert expand(short) == expand(modelled(*both, "--scenario", "offline", *sessions))
    assert estimate(short).cases == len(expand(short)) == 6


@pytest.mark.parametrize(
    ("runtimes", "flags", "expected"),
    [
        ("fake,fpga", "--replicas 2", [("fake", None), ("fake", 2), ("fpga", None)]),
        ("fake", "--replicas 2 --scenario multistream:4", [("fake", None), ("fake", 2)]),
        ("fake:1+0", "--replicas 2,4", [("fake:1", None), ("fake:1+0", None), ("fake:1+0", 4)]),
        ("fake:1,fake:1+0", "--replicas 2", [("fake:1", None), ("fake:1", 2), ("fake:1+0", None)]),
        ("fake:0+1", "", [("fake:0+1", None)]),
        (
            "fake:0+1",
            "--option fake.sessions=2,4,6",
            [("fake:0+1", None), ("fake:0+1", 4), ("fake:0+1", 6)],
        ),
        (
            "fake:0,fake:0+1",
            "--option fake.sessions=1,2",
            [("fake:0", None), ("fake:0", 2), ("fake:0+1", 1), ("fake:0+1", None)],
        ),
    ],
)
def test_sessions_are_dealt_to_devices_and_one_is_on_the_first(
    runtimes: str, flags: str, expected: list[tuple[str, object]]
) -> None:
    cases = expand(modelled("--runtimes", runtimes, *flags.split()))
    assert [(case.runtime, case.options.get("sessions")) for case in cases] == expected
    word = "multistream:4" if "multistream" in flags else "offline"
    assert "--replicas" not in flags or {str(case.scenario) for case in cases} == {word}
