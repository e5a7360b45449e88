"""A rate at which a round would see next to nothing is refused before anything is written."""

from __future__ import annotations

import pytest

from app.cases.errors import PlanError
from app.plan.expand import expand
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep


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
