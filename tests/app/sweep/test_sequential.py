"""A sequential comparison: rounds until its verdicts are settled, bounded, and resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from app.analysis.columns.rows import Rows
from app.machine.environment import describe_host
from app.plan.plan import Plan
from app.run_folder.diagnostics import diagnostics_of
from app.runs.reader import read_run
from app.sweep.run_creation import create_run
from app.sweep.scheduling.sequential_rounds import SequentialRounds
from tests.app.cli.headless.faulty_runs import SLOW_US, plan_of
from tests.app.run_folder.runs import record
from tests.app.sweep.sweeps import write_add_graph

EQUAL, SLOWER = (1.0, 1.03, 0.98, 1.02), (1.5, 1.501, 1.502, 1.503)
"""What the rounds of the second case have, over those of the baseline, again and again."""


def planned_after(
    folder: Path, plan: Plan, ratios: Sequence[float], rounds: int, failing: bool = False
) -> tuple[int, int]:
    """How many rounds the baseline and the other case are to have, once both have `rounds`; a case
    that is `failing` crashed in its first."""
    rule = plan.sequence
    assert rule is not None
    with create_run(plan, folder) as run_folder:
        run_folder.begin(describe_host())
        baseline, other = run_folder.manifest.cases
        for number in range(rounds):
            level_us = SLOW_US * (1.0 + 0.0001 * number)
            record(run_folder, baseline, number, [level_us] * 400)
            if not failing:
                record(run_folder, other, number, [level_us * ratios[number % 4]] * 400)
        if failing:
            record(run_folder, other, 0, [], "crashed")
        policy = SequentialRounds(plan, rule, read_run(folder), Rows())
        return policy.planned_rounds(baseline), policy.planned_rounds(other)


@pytest.fixture
def plan(tmp_path: Path, request: pytest.FixtureRequest) -> Plan:
    """Of two cases, of which the first is the baseline."""
    values = {"sequential": True, "rounds": 8, "judge": ["p50"], **getattr(request, "param", {})}
    graph = write_add_graph(tmp_path / "add.onnx")
    return plan_of(graph, baseline=f"fake.latency_us={SLOW_US:g}", **values)


@pytest.mark.parametrize(
    ("ratios", "rounds", "expected"),
    [
        (SLOWER, 0, 3),
        (SLOWER, 2, 3),
        (SLOWER, 3, 3),
        (EQUAL, 3, 4),
        (EQUAL, 4, 6),
        (EQUAL, 5, 6),
        (EQUAL, 8, 8),
    ],
)
def test_a_pair_has_rounds_until_its_verdict_is_decided(
    tmp_path: Path, plan: Plan, ratios: Sequence[float], rounds: int, expected: int
) -> None:
    """Looks are at 3, 4, 6 and 8 rounds; ±2 % of noise hides whether a change is within 2 %."""
    assert planned_after(tmp_path / "run", plan, ratios, rounds) == (expected, expected)


@pytest.mark.parametrize(
    ("plan", "expected"),
    [({"sequential": False, "detect": share}, rounds) for share, rounds in ((0.5, 3), (0.04, 4))],
    indirect=["plan"],
)
def test_detect_adds_rounds_until_such_a_slowdown_would_be_found(
    tmp_path: Path, plan: Plan, expected: int
) -> None:
    """Three rounds that differ by 2 % would find 50 % and not 4 %, and decide nothing."""
    assert planned_after(tmp_path / "run", plan, EQUAL, 3) == (expected, expected)


def test_the_partner_of_a_failed_case_has_the_rounds_of_the_preset(
    tmp_path: Path, plan: Plan
) -> None:
    """`glance` has two, and the first look is at three."""
    target, _ = planned_after(tmp_path / "run", plan, EQUAL, 3, failing=True)
    assert target == 3


@pytest.mark.parametrize(("measured", "lacking"), [(4, ()), (5, ((5, 6),))])
def test_rows_lack_the_rounds_of_the_next_look_and_at_a_look_have_its_intervals(
    tmp_path: Path, plan: Plan, measured: int, lacking: tuple[tuple[int, int], ...]
) -> None:
    assert plan.sequence is not None
    planned_after(tmp_path / "run", plan, EQUAL, measured)
    run, rows = read_run(tmp_path / "run"), Rows()
    for row in rows.of(run):
        missing = [each for each in diagnostics_of(row) if each.code == "rounds_missing"]
        found = [(each.parameters["measured"], each.parameters["planned"]) for each in missing]
        assert found == [*lacking]
        if not lacking:
            assert row["stop_reason"] and row["ci_method"] == "t_ranks_looks"
            summary = rows.summary(run, run.cases[0])
            assert summary is not None
            assert summary.confidence == plan.sequence.confidence_at(measured)
