"""Scenarios, conditions, batchers and times are one word, read as they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

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
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from exporters.codec import from_json, to_json

WORDS: list[tuple[Callable[[str], Any], str, Any, str]] = [
    (Scenario.parse, "closed_loop", CLOSED_LOOP, "closed_loop"),
    (Scenario.parse, "paced:1ms", Scenario("paced", gap_us=1000.0), "paced:1000us"),
    (Scenario.parse, "poisson:0.5/s", Scenario("poisson", rate_hz=0.5), "poisson:0.5/s"),
    (Scenario.parse, "rate:2500000/s", Scenario("rate", rate_hz=2.5e6), "rate:2500000/s"),
    (
        Scenario.parse,
        "burst:8@10ms",
        Scenario("burst", count=8, period_us=1e4),
        "burst:8@10000us",
    ),
    (Scenario.parse, "multistream:8", Scenario("multistream", count=8), "multistream:8"),
    (Scenario.parse, "offline", Scenario("offline"), "offline"),
    (Condition.parse, "none", NO_CONDITION, "none"),
    (Condition.parse, "cold:64MB", Condition("cold", bytes=64_000_000), "cold:64MB"),
    (Condition.parse, "cold:64 mib", Condition("cold", bytes=67_108_864), "cold:64MiB"),
    (Condition.parse, "cold:1.5GiB", Condition("cold", bytes=1_610_612_736), "cold:1536MiB"),
    (Condition.parse, "cold:4096B", Condition("cold", bytes=4096), "cold:4KiB"),
    (Condition.parse, "cold:4097B", Condition("cold", bytes=4097), "cold:4097B"),
    (Condition.parse, "cold-l2", Condition("cold-l2"), "cold-l2"),
    (Condition.parse, "sustained:30min", Condition("sustained", seconds=1800.0), "sustained:30m"),
    (Condition.parse, "sustained:1.25s", Condition("sustained", seconds=1.25), "sustained:1250ms"),
    (Condition.parse, "with:f.py:build", Condition("with", model="f.py:build"), "with:f.py:build"),
    (
        Condition.parse,
        "shapes:mix.csv",
        Condition("shapes", file="mix.csv"),
        "shapes:mix.csv",
    ),
    (Condition.parse, "sustained:1s", Condition("sustained", seconds=1.0), "sustained:1s"),
    (Condition.parse, "sustained:168h", Condition("sustained", seconds=604_800), "sustained:168h"),
    (Batcher.parse, "max=8,wait=0ms", Batcher(8, 0.0), "max=8,wait=0us"),
    (Batcher.parse, "max=1,wait=250us", Batcher(1, 250.0), "max=1,wait=250us"),
    (Batcher.parse, "max=1024,wait=10s", Batcher(1024, 1e7), "max=1024,wait=10000ms"),
    (Batcher.parse, "max=6,wait=1234.567us", Batcher(6, 1234.567), "max=6,wait=1.234567ms"),
]


@pytest.mark.parametrize(
    ("parse", "text", "value", "word"),
    WORDS,
    ids=lambda part: getattr(part, "__qualname__", str(part)),
)
def test_a_word_is_read_and_written(
    parse: Callable[[str], Any], text: str, value: Any, word: str
) -> None:
    assert parse(text) == parse(word) == value
    assert str(value) == word
    if isinstance(value, Scenario):
        assert value.words == text, "people are told it as they write it"


@pytest.mark.parametrize(
    ("parse", "text", "told"),
    [
        (Scenario.parse, "rate:-5/s", "'rate:-5/s' is not known"),
        (Scenario.parse, "rate:200", "use closed_loop, paced:20us"),
        (Scenario.parse, "rate:0/s", "use 0.01/s to 10000000/s"),
        (Scenario.parse, "poisson:1000000000/s", "can't be measured"),
        (Scenario.parse, "rate:nan/s", "is not known"),
        (Scenario.parse, "burst:0@10ms", "0 at once; use 1 to 10000"),
        (Scenario.parse, "burst:8@0ms", "no time between its bursts"),
        (Scenario.parse, "multistream:0", "use 1 to 10000"),
        (Scenario.parse, "offline:8", "is not known"),
        (Condition.parse, "", "use none, cold:64MB"),
        (Condition.parse, "none:1", "is not known"),
        (Condition.parse, "cold:-64MB", "is no amount of memory"),
        (Condition.parse, "cold:64", "is no amount of memory"),
        (Condition.parse, "cold:4KB", "'cold:4KB' is less than a page; use at least 4KiB"),
        (Condition.parse, "sustained:500ms", "is too short or too long; use 1s to 168h"),
        (Condition.parse, "sustained:169h", "use 1s to 168h"),
        (Condition.parse, "with:", "names no model; write it like with:mlp"),
        (Condition.parse, "shapes:", "names no file; write it like shapes:requests.csv"),
        (Batcher.parse, "max=8", "is not known; use none, or such as max=8,wait=2ms"),
        (Batcher.parse, "max=8,wait=2", "is not known"),
        (Batcher.parse, "max=0,wait=2ms", "collects 0 requests; use max=1 to max=1024"),
        (Batcher.parse, "max=5000,wait=2ms", "use max=1 to max=1024"),
        (Batcher.parse, "max=8,wait=11s", "waits too long; use at most wait=10s"),
        (Batcher.parse, "max=8,wait=1.0005us", "part of a nanosecond"),
    ],
    ids=lambda part: getattr(part, "__qualname__", str(part)),
)
def test_what_is_no_word_is_told_in_one_sentence(
    parse: Callable[[str], Any], text: str, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        parse(text)


def test_arrivals_in_a_second() -> None:
    assert Scenario.parse("burst:8@10ms").arrivals_hz == pytest.approx(800)
    assert Scenario.parse("rate:3/s").arrivals_hz == 3
    assert Scenario.parse("multistream:8").arrivals_hz == 0


def test_a_condition_and_a_batcher_name_a_case_and_none_renames_no_older_one() -> None:
    plain = Case("mlp", "fake")
    assert plain.identity == {"model": "mlp", "runtime": "fake"}
    cold = replace(plain, condition=Condition.parse("cold:64MB"))
    batched = replace(plain, batcher=Batcher(8, 2000.0))
    assert cold.identity == plain.identity | {"condition": "cold:64MB"}
    assert batched.identity == plain.identity | {"batcher": "max=8,wait=2ms"}
    assert len({case.case_id for case in (plain, cold, batched)}) == 3
    read = from_json(Case, {k: v for k, v in to_json(batched).items() if k != "case_id"})
    assert (read, read.case_id) == (batched, batched.case_id)


def test_going_without_is_a_word_too() -> None:
    assert parse_batcher("none") is None
    assert parse_batcher("max=2,wait=1ms") == Batcher(2, 1000.0)


def test_the_graph_is_compiled_for_powers_of_two_and_the_largest() -> None:
    """A batch is filled up to the next of these sizes, and no further."""
    sizes = {1: (1,), 2: (1, 2), 3: (1, 2, 3), 8: (1, 2, 4, 8), 12: (1, 2, 4, 8, 12)}
    assert {most: Batcher(most, 0.0).sizes for most in sizes} == sizes
    filled = [Batcher(12, 0.0).size_for(count) for count in range(1, 13)]
    assert filled == [1, 2, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]


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
