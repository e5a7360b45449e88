"""What a plan asks of a search over options: understood, spelled out, given back, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.objectives import MAXIMUM_ROUNDS
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.runtime_options import space_of, with_search_values
from exporters.types import PRECISIONS
from runtimes import registry

GRID: dict[str, Any] = {"models": ["mlp"], "runtimes": ["fake"]}


def plan_of(**values: Any) -> Plan:
    return measured_plan(**{"tune": "p99", **values})


def measured_plan(**values: Any) -> Plan:
    return parse_plan({"sweeps": [GRID], **values}, "the plan")


def from_flags(*words: str) -> Plan:
    return plan_from_options(parse(["--models", "mlp", *words]))


def test_flags_leave_threads_free_and_with_an_error_precisions_too() -> None:
    (sweep,) = from_flags("--tune", "p99", "--cores", "0-3").sweeps
    assert sweep.threads == (0, 1, 2, 4)
    assert sweep.precisions == ("fp32",)
    (sweep,) = from_flags("--tune", "throughput", "--max-error", "2%").sweeps
    assert sweep.precisions == PRECISIONS
    assert sweep.precisions[0] == "fp32", "that of the default"
    plan = from_flags("--tune", "p99", "--max-error", "2%", "--threads", "1", "--precision", "int8")
    assert plan.sweeps[0].threads == (1,)
    assert plan.sweeps[0].precisions == ("int8",)
    assert plan.max_error == 0.02


def test_every_tuned_option_of_each_runtime_is_spelled_out() -> None:
    plan = with_search_values(plan_of(sweeps=[{**GRID, "runtimes": ["ort-cpu", "fake"]}]))
    (sweep,) = plan.sweeps
    expected = {
        f"{name}.{option.name}"
        for name in ("ort-cpu", "fake")
        for option in registry.load(name).options
        if option.tuned
    }
    assert {key for key in sweep.options if key.startswith("ort-cpu.")} == {
        key for key in expected if key.startswith("ort-cpu.")
    }
    assert sweep.options.keys() <= expected
    assert sweep.options["ort-cpu.memory_arena"] == (True, False)
    assert with_search_values(plan).sweeps == plan.sweeps, "as a resumed run reads it"


def test_options_that_are_given_are_all_that_is_tried() -> None:
    grid = {**GRID, "options": {"fake.latency_us": [50, 100], "fake.sessions": [1]}}
    plan = with_search_values(plan_of(sweeps=[grid]))
    (base,) = expand(plan)
    assert base.options == {"latency_us": 50.0}
    space = space_of(plan, base, "batch")
    assert space.options["fake"]["latency_us"] == (50.0, 100.0)
    assert space.options["fake"]["sessions"] == (1,)
    assert space.batches == (), "a latency is searched at the batch that it has"


def test_a_value_that_only_another_release_knows_is_one_sentence() -> None:
    grid = {**GRID, "options": {"fake.distribution": ["normal", "of tomorrow"]}}
    plan = plan_of(sweeps=[grid])
    with pytest.raises(PlanError, match="a search had the option distribution=of tomorrow"):
        space_of(plan, Case("mlp", "fake"), "batch")


def test_a_throughput_is_searched_over_batches() -> None:
    plan = with_search_values(plan_of(tune="throughput"))
    (base,) = expand(plan)
    assert space_of(plan, base, "batch").batches == (1, 2, 4, 8, 16, 32)
    assert space_of(plan, base, "").batches == (), "of a model whose batch is fixed"
    search_plan = with_search_values(
        plan_of(tune="throughput", sweeps=[{**GRID, "batch_size": [4, 64]}])
    )
    (base,) = expand(search_plan)
    assert base.axes == {"batch": 4}
    assert space_of(search_plan, base, "batch").batches == (4, 64)


def test_an_estimate_reaches_from_the_least_to_the_most_rounds() -> None:
    fixed_estimate, precise = (
        estimate(measured_plan(rounds=5)),
        estimate(measured_plan(precise={"p50": 0.01})),
    )
    assert (precise.rounds, precise.maximum_rounds) == (5, 40)
    assert precise.shortest_s == fixed_estimate.shortest_s
    assert precise.longest_s > 7 * fixed_estimate.longest_s


@pytest.mark.parametrize("search", [{"tune": "p99"}, {"slo": "p99=5ms"}])
def test_rounds_of_a_search_are_the_most_whatever_the_profile_has(search: dict[str, str]) -> None:
    assert measured_plan(**search, profile="glance").lengths.rounds == MAXIMUM_ROUNDS
    assert measured_plan(**search, rounds=5).lengths.rounds == 5
    assert estimate(measured_plan(**search)).search
    assert measured_plan(profile="glance").lengths.rounds == 2
    assert not estimate(measured_plan()).search


def test_rounds_are_the_most_of_a_precise_plan() -> None:
    assert measured_plan().stopping is None
    for more, most in (({}, 40), ({"rounds": 12}, 12)):
        plan = measured_plan(precise={"p99.9": 0.1}, **more)
        assert plan.stopping is not None and plan.lengths.rounds == most
        assert (plan.stopping.targets, plan.stopping.maximum) == ({"p999": 0.1}, most)
