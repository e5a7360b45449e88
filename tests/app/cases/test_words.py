"""Scenarios, conditions, batchers and times are one word, read as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.scenario import (
    CLOSED_LOOP,
    NO_CONDITION,
    Batcher,
    Condition,
    Scenario,
    parse_batcher,
)
from app.cases.units import parse_duration
from app.plan.command import command_line
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from exporters.codec import from_json, to_json


@pytest.mark.parametrize(
    ("text", "scenario", "word"),
    [
        ("closed_loop", CLOSED_LOOP, "closed_loop"),
        ("paced:1ms", Scenario("paced", gap_us=1000.0), "paced:1000us"),
        ("rate:200/s", Scenario("rate", rate_hz=200.0), "rate:200/s"),
        ("poisson:0.5/s", Scenario("poisson", rate_hz=0.5), "poisson:0.5/s"),
        ("rate:2500000/s", Scenario("rate", rate_hz=2.5e6), "rate:2500000/s"),
        ("burst:8@10ms", Scenario("burst", count=8, period_us=1e4), "burst:8@10000us"),
        ("multistream:8", Scenario("multistream", count=8), "multistream:8"),
        ("offline", Scenario("offline"), "offline"),
    ],
)
def test_a_word_is_read_and_written(text: str, scenario: Scenario, word: str) -> None:
    assert Scenario.parse(text) == scenario
    assert str(scenario) == word
    assert scenario.words == text, "people are told it as they write it"
    assert Scenario.parse(word) == scenario


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rate:-5/s", "'rate:-5/s' is not known"),
        ("rate:200", "use closed_loop, paced:20us"),
        ("rate:0/s", "use 0.01/s to 10000000/s"),
        ("poisson:1000000000/s", "can't be measured"),
        ("rate:nan/s", "is not known"),
        ("burst:0@10ms", "0 at once; use 1 to 10000"),
        ("burst:8@0ms", "no time between its bursts"),
        ("burst:8", "is not known"),
        ("multistream:0", "use 1 to 10000"),
        ("offline:8", "is not known"),
        ("paced", "is not known"),
        ("", "is not known"),
    ],
)
def test_what_is_no_scenario_is_told_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("(", r"\(")):
        Scenario.parse(text)


def test_arrivals_in_a_second() -> None:
    assert Scenario.parse("burst:8@10ms").arrivals_hz == pytest.approx(800)
    assert Scenario.parse("rate:3/s").arrivals_hz == 3
    assert Scenario.parse("multistream:8").arrivals_hz == 0


@pytest.mark.parametrize(
    ("text", "condition", "word"),
    [
        ("none", NO_CONDITION, "none"),
        ("cold:64MB", Condition("cold", bytes=64_000_000), "cold:64MB"),
        ("cold:64 mib", Condition("cold", bytes=67_108_864), "cold:64MiB"),
        ("cold:1.5GiB", Condition("cold", bytes=1_610_612_736), "cold:1536MiB"),
        ("cold:4096B", Condition("cold", bytes=4096), "cold:4KiB"),
        ("cold:4097B", Condition("cold", bytes=4097), "cold:4097B"),
        ("cold-l2", Condition("cold-l2"), "cold-l2"),
        ("sustained:30min", Condition("sustained", seconds=1800.0), "sustained:30m"),
        ("sustained:90s", Condition("sustained", seconds=90.0), "sustained:90s"),
        ("sustained:1.25s", Condition("sustained", seconds=1.25), "sustained:1250ms"),
        ("with:nets/a.onnx", Condition("with", model="nets/a.onnx"), "with:nets/a.onnx"),
        ("with:f.py:build", Condition("with", model="f.py:build"), "with:f.py:build"),
        ("shapes:a/mix.csv", Condition("shapes", file="a/mix.csv"), "shapes:a/mix.csv"),
        ("sustained:168h", Condition("sustained", seconds=604_800.0), "sustained:168h"),
    ],
)
def test_a_word_is_read_and_written_condition(text: str, condition: Condition, word: str) -> None:
    assert Condition.parse(text) == condition
    assert str(condition) == word
    assert Condition.parse(word) == condition


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "use none, cold:64MB"),
        ("cold", "'cold' is not known"),
        ("warm:64MB", "'warm:64MB' is not known"),
        ("none:1", "is not known"),
        ("cold:", "is no amount of memory; write it like"),
        ("cold:-64MB", "is no amount of memory"),
        ("cold:64", "is no amount of memory"),
        ("cold:4KB", "'cold:4KB' is less than a page; use at least 4KiB"),
        ("sustained:", "is no time"),
        ("sustained:500ms", "is too short or too long; use 1s to 168h"),
        ("sustained:169h", "use 1s to 168h"),
        ("with:", "names no model; write it like with:mlp"),
        ("shapes:", "names no file; write it like shapes:requests.csv"),
    ],
)
def test_what_is_no_condition_is_told_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Condition.parse(text)


def test_a_condition_names_a_case_and_none_renames_no_older_one() -> None:
    cold = Case("mlp", "ort-cpu", condition=Condition.parse("cold:64MB"))
    assert cold.identity == {"model": "mlp", "runtime": "ort-cpu", "condition": "cold:64MB"}
    assert cold.case_id != Case("mlp", "ort-cpu").case_id
    assert Case("mlp", "ort-cpu").identity == {"model": "mlp", "runtime": "ort-cpu"}


@pytest.mark.parametrize(
    ("text", "batcher", "word"),
    [
        ("max=8,wait=2ms", Batcher(8, 2000.0), "max=8,wait=2ms"),
        ("max=8,wait=0ms", Batcher(8, 0.0), "max=8,wait=0us"),
        ("max=1,wait=250us", Batcher(1, 250.0), "max=1,wait=250us"),
        ("max=1024,wait=10s", Batcher(1024, 1e7), "max=1024,wait=10000ms"),
        ("max=6,wait=1234.567us", Batcher(6, 1234.567), "max=6,wait=1.234567ms"),
    ],
)
def test_a_word_is_read_and_written_batcher(text: str, batcher: Batcher, word: str) -> None:
    assert Batcher.parse(text) == batcher
    assert str(batcher) == word
    assert Batcher.parse(word) == batcher


def test_going_without_is_a_word_too() -> None:
    assert parse_batcher("none") is None
    assert parse_batcher("max=2,wait=1ms") == Batcher(2, 1000.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max=8", "is not known; use none, or such as max=8,wait=2ms"),
        ("8", "is not known"),
        ("max=8,wait=2", "is not known"),
        ("max=-8,wait=2ms", "is not known"),
        ("max=0,wait=2ms", "collects 0 requests; use max=1 to max=1024"),
        ("max=5000,wait=2ms", "use max=1 to max=1024"),
        ("max=8,wait=11s", "waits too long; use at most wait=10s"),
        ("max=8,wait=1.0005us", "part of a nanosecond"),
        ("", "is not known"),
    ],
)
def test_what_is_no_batcher_is_told_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Batcher.parse(text)


@pytest.mark.parametrize(
    ("most", "sizes"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (8, (1, 2, 4, 8)), (12, (1, 2, 4, 8, 12))],
)
def test_the_graph_is_compiled_for_powers_of_two_and_the_largest(
    most: int, sizes: tuple[int, ...]
) -> None:
    assert Batcher(most, 0.0).sizes == sizes


def test_a_batch_is_filled_up_to_the_next_size_and_no_further() -> None:
    batcher = Batcher(12, 0.0)
    sizes = [batcher.size_for(count) for count in range(1, 13)]
    assert sizes == [1, 2, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]


def test_a_case_keeps_its_batcher_and_an_older_one_its_name() -> None:
    plain = Case("mlp", "fake")
    case = Case("mlp", "fake", batcher=Batcher(8, 2000.0))
    assert "batcher" not in plain.identity
    assert case.identity["batcher"] == "max=8,wait=2ms"
    assert case.case_id != plain.case_id
    read = from_json(Case, {k: v for k, v in to_json(case).items() if k != "case_id"})
    assert read == case
    assert read.case_id == case.case_id


def plan_of(*flags: str) -> Plan:
    return plan_from_options(parse(["--models", "mlp", "--runtimes", "fake", *flags]))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("2m", 120.0),
        ("2 min", 120.0),
        ("1.5 h", 5400.0),
        ("500ms", 0.5),
    ],
)
def test_a_time_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    assert plan_of("--time-limit", text).time_limit_s == seconds
    assert plan_of("--budget", text).budget_s == seconds


@pytest.mark.parametrize(
    "text", ["0", "-5s", "two minutes", "2 mins", "9" * 400, "inf", "nan", "s"]
)
def test_what_is_no_time_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(PlanError, match=r"is no time: write it like 90s or 2m") as exc_info:
        plan_of(f"--budget={text}")
    assert "--budget" in str(exc_info.value)


@pytest.mark.parametrize("value", [0, -1, True, float("inf"), float("nan"), "2m"])
@pytest.mark.parametrize("key", ["time_limit_s", "budget_s"])
def test_a_plans_keys_are_numbers_of_seconds(key: str, value: object) -> None:
    with pytest.raises(PlanError, match=key):
        parse_plan({key: value, "sweeps": [{"models": ["mlp"]}]}, "the plan")


def test_the_command_that_is_copied_has_them(tmp_path: Path) -> None:
    plan = plan_of("--budget", "2m", "--time-limit", "90s")
    assert "--time-limit 90s --budget 120s" in command_line(plan, tmp_path)
