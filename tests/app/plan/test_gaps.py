"""A range of gaps is a list of paced scenarios, and the same as if they were written out."""

from __future__ import annotations

import pytest

from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.curves import reject_without_gaps
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.settings.setting import idle_sweep


def plan_of(*flags: str) -> Plan:
    return plan_from_options(parse(["--models", "mlp", "--runtimes", "fake", *flags]))


@pytest.mark.parametrize(
    ("text", "gaps_us"),
    [
        ("20us..1ms", ["20", "50", "100", "200", "500", "1000"]),
        ("20us..21us", ["20", "21"]),
        ("0.5us..2us", ["0.5", "1", "2"]),
        ("30us .. 70us", ["30", "50", "70"]),
        ("1ms..10ms", ["1000", "2000", "5000", "10000"]),
        ("500ms..60s", [f"{ms}000" for ms in (500, 1000, 2000, 5000, 10000, 20000, 50000, 60000)]),
    ],
)
def test_steps_are_1_2_5_and_both_ends_are_among_them(text: str, gaps_us: list[str]) -> None:
    assert idle_sweep(text) == [f"paced:{gap}us" for gap in gaps_us]


def test_gaps_come_after_the_scenarios_that_are_asked_for() -> None:
    written_out = plan_of("--scenario", "closed_loop,paced:1ms,paced:2ms,paced:4ms")
    short = plan_of("--scenario", "closed_loop", "--idle-sweep", "1ms..4ms")
    assert expand(short) == expand(written_out)
    (sweep,) = plan_of("--idle-sweep", "1ms..2ms").sweeps
    assert sweep.scenarios == ("paced:1000us", "paced:2000us")


@pytest.mark.parametrize(
    "text", ["", "20us", "20us-1s", "1s..20us", "20us..20us", "0us..1s", "20..30", "20us..1h", ".."]
)
def test_what_is_no_range_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(PlanError, match=r"is no range of gaps: write it like 20us\.\.1s"):
        plan_of(f"--idle-sweep={text}")


def test_gaps_that_no_round_could_time_are_refused() -> None:
    with pytest.raises(PlanError, match="gaps too long to measure: use at most 60s"):
        plan_of("--idle-sweep", "1s..61s")


def test_a_picture_without_gaps_is_refused_before_anything_is_measured() -> None:
    reject_without_gaps(plan_of("--idle-sweep", "1ms..5ms"))
    with pytest.raises(PlanError, match=r"fewer than three: add --idle-sweep 20us\.\.1s"):
        reject_without_gaps(plan_of("--idle-sweep", "1ms..2ms", "--scenario", "closed_loop"))
