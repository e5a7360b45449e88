"""Batchers and replicas of a plan: which are compared, and which could collect nothing."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.cases.scenario import Batcher
from app.formatting.case_labels import labels
from app.plan.command import command_line
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, plan_toml
from app.plan.runtime_options import with_search_values
from app.sweep.scheduling.round_jobs import points
from tests.app.sweep.sweeps import write_add_graph

SEVERAL = ["max=8,wait=2ms", "max=3,wait=0us", "none"]


def plan_of(**grid: Any) -> Plan:
    usual = {"models": ["mlp"], "runtimes": ["fake"], "scenarios": ["poisson:200/s"]}
    return parse_plan({"name": "sweep", "sweeps": [{**usual, **grid}]}, "the plan")


def test_several_batchers_are_cases_of_their_own_and_their_labels_tell_them_apart() -> None:
    cases = expand(plan_of(batcher=SEVERAL))
    assert [case.batcher for case in cases] == [Batcher(8, 2000.0), Batcher(3, 0.0), None]
    assert {case.axes["batch"] for case in cases} == {1}
    assert [label.rpartition(" · ")[2] for label in labels(cases).values()] == [
        "batcher max=8,wait=2ms",
        "batcher max=3,wait=0us",
        "no batcher",
    ]


def test_a_plan_without_a_batcher_has_the_cases_that_it_had() -> None:
    (case,) = expand(plan_of())
    assert case.batcher is None
    assert "batcher" not in case.identity


def test_the_command_line_and_the_plan_file_say_the_same_batchers(tmp_path: Path) -> None:
    plan = plan_of(batcher=SEVERAL)
    words = shlex.split(command_line(plan, tmp_path).partition(" run ")[2])
    assert words.count("--batcher") == len(SEVERAL)
    assert plan_from_options(parse(words)) == plan
    (tmp_path / "p.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "p.toml").sweeps == plan.sweeps


def test_a_model_is_exported_for_every_batch_that_is_sent() -> None:
    with_batcher, plain_case = expand(plan_of(batcher=["max=6,wait=1ms", "none"]))
    assert [point["batch"] for point in points(with_batcher)] == [1, 2, 4, 6]
    assert [point["batch"] for point in points(plain_case)] == [1]


def test_an_axis_of_another_name_may_be_the_batch(tmp_path: Path) -> None:
    path = str(write_add_graph(tmp_path / "open.onnx", ("N", 3)))
    (case,) = expand(plan_of(models=[path], batcher=["max=2,wait=1ms"]))
    assert list(points(case)) == [{"N": 1}, {"N": 2}]


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ({"scenarios": ["closed_loop"]}, "closed_loop waits for answers"),
        ({"scenarios": ["rate:9/s", "paced:1ms"]}, "paced:1000us waits for answers"),
        ({"scenarios": ["multistream:8"]}, "multistream:8 waits for answers"),
        ({"batch_size": [4]}, "the batch is 4: remove --batch, or make it 1"),
        ({"axes": {"batch": [1, 2]}}, "the batch is 2"),
        ({"options": {"fake.sessions": [1, 2]}}, "one server, and fake.sessions makes several"),
    ],
)
def test_what_goes_with_no_batcher_is_told_in_one_sentence(grid: dict[str, Any], told: str) -> None:
    plan = plan_of(batcher=["max=8,wait=2ms"], **grid)
    with pytest.raises(PlanError, match=told):
        expand(plan)


def test_a_search_begins_without_a_batcher() -> None:
    grid = {"models": ["mlp"], "runtimes": ["fake"], "batcher": ["max=8,wait=2ms", "none"]}
    (case,) = expand(parse_plan({"slo": "p99=5ms", "sweeps": [grid]}, "the plan"))
    assert (case.batcher, case.axes["batch"]) == (None, 1)


def test_a_model_whose_batch_is_fixed_is_named(tmp_path: Path) -> None:
    path = write_add_graph(tmp_path / "fixed.onnx", (2, 3))
    with pytest.raises(PlanError, match=r"fixed\.onnx has no open batch axis"):
        expand(plan_of(models=["mlp", str(path)], batcher=["max=8,wait=2ms"]))


@pytest.mark.parametrize("word", ["max=8", "max=0,wait=1ms", "8"])
def test_a_word_that_is_no_batcher_is_refused_with_a_remedy(word: str) -> None:
    with pytest.raises(PlanError, match=r"use (none|max=1)"):
        plan_of(batcher=[word])
    flags = f"--headless --models mlp --scenario rate:9/s --batcher {word}"
    with pytest.raises(PlanError, match=r"use (none|max=1)"):
        plan_from_options(parse(flags.split()))


def replicas_plan_of(*flags: str) -> Plan:
    return plan_from_options(parse(["--models", "mlp", *flags]))


def test_they_are_short_for_sessions_of_every_runtime_and_offline() -> None:
    both = ("--runtimes", "ort-cpu,openvino-cpu")
    short = replicas_plan_of(*both, "--replicas", "4,2")
    sessions = ("--option", "ort-cpu.sessions=1,2,4", "--option", "openvino-cpu.sessions=1,2,4")
    assert expand(short) == expand(replicas_plan_of(*both, "--scenario", "offline", *sessions))
    assert estimate(short).cases == len(expand(short)) == 6


def test_a_scenario_of_ones_own_stays() -> None:
    cases = expand(
        replicas_plan_of("--runtimes", "fake", "--replicas", "2", "--scenario", "multistream:4")
    )
    assert [str(case.scenario) for case in cases] == ["multistream:4"] * 2
    assert [case.options.get("sessions", 1) for case in cases] == [1, 2]


def test_a_runtime_without_sessions_is_measured_with_one() -> None:
    cases = expand(replicas_plan_of("--runtimes", "fake,fpga", "--replicas", "2"))
    sessions = [(case.runtime, case.options.get("sessions", 1)) for case in cases]
    assert sessions == [("fake", 1), ("fake", 2), ("fpga", 1)]


def test_the_command_line_of_such_a_plan_says_replicas(tmp_path: Path) -> None:
    line = command_line(replicas_plan_of("--runtimes", "fake", "--replicas", "2,4"), tmp_path)
    assert "--replicas 2,4" in line


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--runtimes", "fpga"), "fpga can't run several sessions at once"),
        (("--runtimes", "fake", "--option", "fake.sessions=2"), "both set the number of sessions"),
    ],
)
def test_what_makes_no_sense_is_refused(flags: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        expand(replicas_plan_of(*flags, "--replicas", "2"))


def told(*flags: str) -> list[tuple[str, object]]:
    cases = expand(replicas_plan_of(*flags))
    return [(case.runtime, case.options.get("sessions")) for case in cases]


def test_over_several_devices_they_are_counted_together_and_one_is_on_the_first() -> None:
    both = [("fake:1", None), ("fake:1+0", None), ("fake:1+0", 4)]
    assert told("--runtimes", "fake:1+0", "--replicas", "2,4") == both
    rows = told("--runtimes", "fake:1,fake:1+0", "--replicas", "2")
    assert rows == [("fake:1", None), ("fake:1", 2), ("fake:1+0", None)]


def test_without_replicas_there_is_a_session_on_each_device() -> None:
    assert told("--runtimes", "fake:0+1") == [("fake:0+1", None)]
    three = ("--runtimes", "fake:0+1", "--option", "fake.sessions=2,4,6")
    assert told(*three) == [("fake:0+1", None), ("fake:0+1", 4), ("fake:0+1", 6)]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("fake:0+1", "--replicas", "3"), "is 2 devices, and 3 sessions .*: give --replicas 2, or"),
        (("fake:0+1", "--replicas", "1"), "is 2 devices, and 1 session can't be dealt evenly"),
        (("fake:0+1", "--option", "fake.sessions=3"), "and 3 sessions .*: give sessions=2 or"),
        (("fake:0+1", "--option", "fake.sessions=1"), "and 1 session can't be dealt evenly"),
        (("fake:0+9",), "fake has no device '9'"),
        (("ort-cpu:0+1",), "ort-cpu has no device '0'"),
        (("fpga:v80+v80",), "several simulated cards"),
        (("fake:0+1", "--tune", "p99"), "tune searches the options of one device"),
    ],
)
def test_what_devices_can_not_share_is_refused(flags: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        expand(with_search_values(replicas_plan_of("--runtimes", *flags)))


def test_sessions_that_only_some_can_deal_are_a_row() -> None:
    flags = ("--runtimes", "fake:0,fake:0+1", "--option", "fake.sessions=1,2")
    assert told(*flags)[2:] == [("fake:0+1", 1), ("fake:0+1", None)]


@pytest.mark.parametrize("word", ["0", "65", "2.5", "two"])
def test_a_number_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(PlanError, match="replicas"):
        replicas_plan_of("--runtimes", "fake", "--replicas", word)
