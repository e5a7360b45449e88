"""Deadlines, ranges of gaps, rates and conditions of a plan: understood, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.plan.command import command_line
from app.plan.command_line import parse
from app.plan.curves import reject_without_gaps
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, plan_toml
from app.plan.settings.setting import idle_sweep
from app.plan.settings.sweep import Sweep
from tests.app.sweep.sweeps import write_add_graph

GRID = {"sweeps": [{"models": ["mlp"], "runtimes": ["fake"]}]}


def asked(word: str) -> Plan:
    return plan_from_options(parse(["--headless", "--models", "mlp", f"--deadline={word}"]))


@pytest.mark.parametrize(
    ("word", "deadline_us"), [("100us", 100.0), ("2.5 ms", 2500.0), ("1s", 1e6), ("0.5us", 0.5)]
)
def test_a_deadline_is_a_time_with_its_unit(word: str, deadline_us: float) -> None:
    assert asked(word).deadline_us == deadline_us


@pytest.mark.parametrize("word", ["100", "0us", "-5us", "5min", "2d", "1e3us", "", "90000s"])
def test_what_is_no_deadline_is_refused_with_a_form_that_is(word: str) -> None:
    with pytest.raises(PlanError, match="write it like 100us or 2ms"):
        asked(word)


@pytest.mark.parametrize("value", [0, -1.0, "100us", float("inf")])
def test_a_plan_file_with_an_impossible_one_is_refused(value: object) -> None:
    with pytest.raises(PlanError, match="deadline_us"):
        parse_plan({**GRID, "deadline_us": value}, "the plan")


@pytest.mark.parametrize("word", ["100us", "0.1us", "12345.678us", "3s"])
def test_it_survives_a_command_line_and_a_plan_file(word: str, tmp_path: Path) -> None:
    plan = asked(word)
    assert f"--deadline {plan.deadline_us:.15g}us" in command_line(plan, tmp_path)
    file = tmp_path / "again.toml"
    file.write_text(plan_toml(plan), "utf-8")
    assert load_plan(file).deadline_us == plan.deadline_us


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


def plan(scenario: str, runtime: str = "fake", profile: str = "glance") -> Plan:
    sweep = Sweep(models=("mlp",), runtimes=(runtime,), scenarios=(scenario,))
    return Plan(sweeps=(sweep,), profile=profile)


@pytest.mark.parametrize(
    ("scenario", "told"),
    [
        ("rate:9/s", r"^rate:9/s brings 9 requests in the 1 s .* use at least 10/s"),
        ("poisson:0.01/s", r"brings 0\.01 requests"),
        ("burst:8@10s", r"brings 0\.8 requests"),
    ],
)
def test_requests_that_come_too_rarely_are_refused(scenario: str, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        expand(plan(scenario))


def test_what_a_longer_round_or_a_simulated_one_has_enough_of_is_measured() -> None:
    assert len(expand(plan("rate:9/s", profile="publication"))) == 1
    assert len(expand(plan("rate:9/s", runtime="fpga:v80"))) == 1
    assert len(expand(plan("rate:10/s"))) == 1


def cases(grid: dict[str, Any], **plan: Any) -> tuple[Case, ...]:
    grid = {"models": ["mlp"], "runtimes": ["fake"], **grid}
    return expand(parse_plan({**plan, "sweeps": [grid]}, "the plan"))


def test_conditions_are_an_axis_of_the_grid() -> None:
    flags = ["--models", "mlp", "--runtimes", "fake", "--condition", "none,cold:64MB,cold:1MB"]
    expanded_cases = expand(plan_from_options(parse(flags)))
    assert [str(case.condition) for case in expanded_cases] == ["none", "cold:64MB", "cold:1MB"]
    assert len({case.case_id for case in expanded_cases}) == 3


def test_without_a_condition_nothing_changes() -> None:
    (case,) = cases({})
    assert cases({"conditions": ["none"]}) == (case,)
    assert "condition" not in case.identity


@pytest.mark.parametrize(
    ("grid", "plan", "told"),
    [
        ({"conditions": ["cold:1KB"]}, {}, "'cold:1KB' is less than a page: use at least 4KiB"),
        ({"conditions": []}, {}, "conditions is empty"),
        (
            {"conditions": ["cold:1MB"], "scenarios": ["rate:200/s"]},
            {},
            "rate has no pauses: use --scenario closed_loop or paced",
        ),
        ({"conditions": ["cold:900TB"]}, {}, "more than a quarter of this machine's memory: use"),
        ({"conditions": ["with:mlpp"]}, {}, "did you mean"),
        ({"conditions": ["with:nothing.onnx"]}, {}, "no file matches 'nothing.onnx'"),
        (
            {"conditions": ["with:mlp"]},
            {"input_range": {"x": (0, 1)}},
            "as it is, and the files or nodes apply to all models: remove your files",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    grid: dict[str, Any], plan: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        cases(grid, **plan)


def test_a_bad_word_of_the_flag_is_told_with_it() -> None:
    with pytest.raises(PlanError, match="--condition 'warm' is not known: use none, cold:64MB"):
        plan_from_options(parse(["--models", "mlp", "--condition", "warm"]))


def test_the_estimate_counts_what_a_long_round_takes() -> None:
    flags = ["--models", "mlp", "--runtimes", "fake", "--rounds", "2", "--condition"]
    plain = estimate(plan_from_options(parse([*flags, "none"])))
    both = estimate(plan_from_options(parse([*flags, "none,sustained:30min"])))
    assert both.shortest_s == pytest.approx(2 * plain.shortest_s + 2 * 1800)


def test_a_neighbour_of_unknown_sizes_is_refused(tmp_path: Path) -> None:
    open_sizes = write_add_graph(tmp_path / "open.onnx", ("n", 3))
    path = write_add_graph(tmp_path / "fixed.onnx")
    (case,) = cases({"conditions": [f"with:{path}"]})
    assert case.condition.model == str(path)
    with pytest.raises(PlanError, match="no single model whose sizes are all known: name one of"):
        cases({"conditions": [f"with:{open_sizes}"]})
