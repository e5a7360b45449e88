"""Every exclusion of the table holds for a plan that shows it, and for no plain one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.exclusions import (
    EXCLUSIONS,
    Exclusion,
    ExclusionError,
    reject_exclusions,
    reject_without_effect,
)
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.settings.table import by_key
from tests.app.plan.samples import PLAN, SWEEP

GRID = {"models": ["mlp"], "runtimes": ["fake"]}


EXAMPLES: dict[str, dict[str, Any]] = {
    **{f"{key}_without_cluster": {key: True} for key in ("per_host", "send_code")},
    "insecure_cluster_without_cluster": {"insecure_cluster": True},
    "page_cache_without_cold_start": {"page_cache": "dropped"},
    "max_error_without_tune": {"max_error": 0.02},
    "environment_with_cluster": {"cluster": "ssh:a", "runtimes": ["ort-cpu@old"]},
    "scenario_with_slo": {"slo": "p99=5ms", "scenarios": ["poisson:200/s", "offline"]},
    "few_rounds_with_slo": {"slo": "p99=5ms", "rounds": 2},
    "condition_with_slo": {"slo": "p99=5ms", "conditions": ["sustained:2s"]},
    "batchers_with_slo": {
        "slo": "p99=5ms",
        "sweeps": [GRID, {**GRID, "batcher": ["max=4,wait=2ms"]}],
    },
    "grids_with_tune": {"tune": "p99", "sweeps": [GRID, GRID]},
    "scenario_with_tune": {"tune": "throughput", "scenarios": ["paced:1ms"]},
    "few_rounds_with_tune": {"tune": "p99", "rounds": 2},
    "max_error_without_verification": {"tune": "p99", "max_error": 0.02, "checked": False},
    "few_rounds_with_precise": {"precise": {"p50": 0.01}, "rounds": 4},
    "sequential_without_baseline": {"sequential": True},
    "few_rounds_with_sequential": {"sequential": True, "rounds": 2},
    "few_rounds_with_detect": {"detect": 0.05, "rounds": 2},
    "detect_within_threshold": {"detect": 0.01},
    "open_loop_with_null": {"null": True, "scenarios": ["closed_loop", "poisson:200/s"]},
    "condition_with_largest_batch": {"largest_batch": True, "conditions": ["cold:1MB"]},
    "neighbour_with_realtime": {"realtime": 1, "conditions": ["with:mlp"]},
    "rounds_with_largest_batch": {"largest_batch": True, "rounds": 5},
    "spread_with_search": {"slo": "p99=5ms", "spread_s": 60.0},
    "tolerance_without_verification": {"checked": False, "tolerance": 0.1},
    "idle_policy_without_gaps": {"wait_policy": "sleep"},
    "percentiles_of_queued_runs": {"percentiles": [50.0], "scenarios": ["ahead:8"]},
    "precise_of_queued_runs": {"precise": {"p50": 0.01}, "scenarios": ["ahead:8"]},
    "deadline_us_of_queued_runs": {"deadline_us": 9.0, "scenarios": ["ahead:8"]},
    "seed_with_check": {"check": True, "seed": 3},
    "calibration_without_int8": {"calibration": "c.npz"},
    "input_range_with_files": {"inputs": "x.npz", "input_range": {"x": [0, 1]}},
    "device_memory_limit_without_device": {"device_memory_limit": "1GiB"},
    "sort_with_tune": {"tune": "p99"},
    "against_with_tune": {"tune": "p99"},
}


def plan_of(values: dict[str, Any]) -> Plan:
    grid = {key: value for key, value in values.items() if key in SWEEP}
    whole = {key: value for key, value in values.items() if key not in SWEEP}
    return parse_plan({"sweeps": [{**GRID, **grid}], **whole}, "the test")


def example(row: Exclusion) -> Plan:
    """The plan of the code, or one with both of the settings that it names."""
    if row.code in EXAMPLES:
        return plan_of(EXAMPLES[row.code])
    first, _, second = row.code.partition("_with_")
    values = {**PLAN, **SWEEP, "shapes": ["shapes:mix.csv"]}
    key = "conditions" if second == "shapes" else second
    return plan_of({first: values[first], key: values[second]})


@pytest.mark.parametrize("row", EXCLUSIONS, ids=lambda row: row.code)
def test_an_exclusion_is_refused_with_an_action(row: Exclusion) -> None:
    plan = example(row)
    reject_without_effect(plan_of({}), {row.typed} - {""})
    assert row.typed or not row.applies(plan_of({}))
    assert row.applies(plan)
    with pytest.raises(ExclusionError) as exc_info:
        if row.typed:
            reject_without_effect(plan, {row.typed})
        else:
            expand(plan)
    assert exc_info.value.remedy
    assert exc_info.value.code in {other.code for other in EXCLUSIONS if other.applies(plan)}


@pytest.mark.parametrize("row", [row for row in EXCLUSIONS if row.typed], ids=lambda row: row.code)
def test_what_has_no_effect_is_refused_only_where_it_was_typed(row: Exclusion) -> None:
    assert row.typed in by_key()
    assert [other.code for other in EXCLUSIONS].count(row.code) == 1
    plan = example(row)
    reject_without_effect(plan, ())
    if row.code not in ("seed_with_check", "precise_of_queued_runs"):
        reject_exclusions(plan)


BASE = ("--headless", "--models", "mlp", "--runtimes", "ort-cpu")


WITH_EFFECT = (
    ("--largest-batch", "--preset", "glance"),
    ("--tolerance", "0.1"),
    ("--idle-policy", "hybrid", "--scenario", "closed_loop,paced:20us"),
    ("--idle-policy", "hybrid", "--idle-sweep", "20us..1ms"),
    ("--idle-policy", "hybrid", "--slo", "p99=5ms"),
    ("--calibration", "samples.npz", "--precision", "fp32,int8"),
    ("--inputs", "samples.npz", "--input-range", "x=0:1", "--precision", "int8"),
    ("--device-memory-limit", "1GiB", "--runtimes", "ort-cpu,ort-cuda"),
    ("--deadline", "1ms", "--scenario", "ahead:2,closed_loop"),
    ("--seed", "3"),
)


def planned(*arguments: str) -> Plan:
    return plan_from_options(parse(arguments))


@pytest.mark.parametrize("arguments", WITH_EFFECT, ids=" ".join)
def test_an_option_with_an_effect_is_taken(arguments: tuple[str, ...]) -> None:
    assert planned(*BASE, *arguments)


def test_a_plan_file_brings_along_what_another_mode_does_not_read(tmp_path: Path) -> None:
    grid = '[[sweeps]]\nmodels = ["mlp"]\nruntimes = ["ort-cpu"]\n'
    (tmp_path / "usual.toml").write_text(f"rounds = 5\ntolerance = 0.1\n{grid}", "utf-8")
    path = str(tmp_path / "usual.toml")
    assert planned("--headless", "--plan", path, "--largest-batch").largest_batch
    assert not planned("--headless", "--plan", path, "--no-verify-outputs").checked
    with pytest.raises(PlanError):
        planned("--headless", "--plan", path, "--largest-batch", "--rounds", "4")
