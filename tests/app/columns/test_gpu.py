"""How the GPU was set is told by each round, and what moved or shared it is warned of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cases.case import Case
from app.cases.column import Row
from app.cases.columns import NAMES
from app.cases.round import RoundResult
from app.cases.scenario import Condition
from app.cases.telemetry import GpuState
from app.columns.environment import gpu_columns, gpu_warnings

STATE = GpuState("H", "GPU-b", "580.95", 700.0, 1980.0, True, True, False, "PCIe 5 x16")
CASE = Case("mlp", "torch-cuda")
QUIET: Row = {**dict.fromkeys(NAMES), "throttle_reasons": "none"}


def rounds(*states: GpuState | None) -> list[RoundResult]:
    return [
        RoundResult("c", number, "ok", environment={"gpu": state} if state else {})
        for number, state in enumerate(states)
    ]


def test_what_differed_between_rounds_is_told_by_each() -> None:
    columns = gpu_columns(
        rounds(STATE, replace(STATE, driver="581.0", power_limit_w=600.0, ecc=None))
    )
    assert columns["gpu_driver"] == "580.95; 581.0"
    assert columns["gpu_uuid"] == "GPU-b"
    assert columns["gpu_power_limit_w"] == 600.0
    assert columns["gpu_ecc"] is True, "the round that did not tell says nothing"


def test_a_round_on_the_host_has_none_of_it() -> None:
    assert gpu_columns(rounds(None, None)) == {}


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"gpu_clock_min_mhz": 1965.0, "gpu_clock_max_mhz": 1980.0}, ""),
        ({"gpu_clock_min_mhz": 345.0, "gpu_clock_max_mhz": 1980.0}, "gpu_clock_varied"),
        (
            {"gpu_clock_min_mhz": 9.0, "gpu_clock_max_mhz": 9.0, "throttle_reasons": "thermal"},
            "gpu_throttled",
        ),
        ({"gpu_other_processes": 0}, ""),
        ({"gpu_other_processes": 2}, "gpu_shared"),
        ({"gpu_persistence": False}, "gpu_persistence_off"),
        ({"gpu_persistence": True}, ""),
    ],
)
def test_what_makes_a_figure_doubtful_is_said(found: Row, code: str) -> None:
    warnings = [*gpu_warnings(CASE, {**QUIET, **found})]
    assert [warning.code for warning in warnings] == [code] * bool(code)


def test_a_neighbour_that_was_asked_for_is_no_intruder() -> None:
    neighbour_case = replace(CASE, condition=Condition.parse("with:mlp"))
    assert not [*gpu_warnings(neighbour_case, {**QUIET, "gpu_other_processes": 1})]
