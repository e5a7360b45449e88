"""Replicas are sessions that share offline work, with one alone among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.plan.command import command_line
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.runtime_options import with_search_values


def plan_of(*flags: str) -> Plan:
    return plan_from_options(parse(["--models", "mlp", *flags]))


def test_they_are_short_for_sessions_of_every_runtime_and_offline() -> None:
    both = ("--runtimes", "ort-cpu,openvino-cpu")
    short = plan_of(*both, "--replicas", "4,2")
    sessions = ("--option", "ort-cpu.sessions=1,2,4", "--option", "openvino-cpu.sessions=1,2,4")
    assert expand(short) == expand(plan_of(*both, "--scenario", "offline", *sessions))
    assert estimate(short).cases == len(expand(short)) == 6


def test_a_scenario_of_ones_own_stays() -> None:
    cases = expand(plan_of("--runtimes", "fake", "--replicas", "2", "--scenario", "multistream:4"))
    assert [str(case.scenario) for case in cases] == ["multistream:4"] * 2
    assert [case.options.get("sessions", 1) for case in cases] == [1, 2]


def test_a_runtime_without_sessions_is_measured_with_one() -> None:
    cases = expand(plan_of("--runtimes", "fake,fpga", "--replicas", "2"))
    sessions = [(case.runtime, case.options.get("sessions", 1)) for case in cases]
    assert sessions == [("fake", 1), ("fake", 2), ("fpga", 1)]


def test_the_command_line_of_such_a_plan_says_replicas(tmp_path: Path) -> None:
    line = command_line(plan_of("--runtimes", "fake", "--replicas", "2,4"), tmp_path)
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
        expand(plan_of(*flags, "--replicas", "2"))


def told(*flags: str) -> list[tuple[str, object]]:
    cases = expand(plan_of(*flags))
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
        expand(with_search_values(plan_of("--runtimes", *flags)))


def test_sessions_that_only_some_can_deal_are_a_row() -> None:
    flags = ("--runtimes", "fake:0,fake:0+1", "--option", "fake.sessions=1,2")
    assert told(*flags)[2:] == [("fake:0+1", 1), ("fake:0+1", None)]


@pytest.mark.parametrize("word", ["0", "65", "2.5", "two"])
def test_a_number_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(PlanError, match="replicas"):
        plan_of("--runtimes", "fake", "--replicas", word)
