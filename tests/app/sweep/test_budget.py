"""A run within a budget: first a round of each case, then more, and honest about the rest."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.column import Row
from app.cli.headless import measure
from app.plan.command import graphlap_line
from app.plan.plan import parse_plan
from app.present.console.answer.outcome import RunOutput
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.scheduling import round_budget
from app.sweep.scheduling.round_budget import Budget, PreciseRounds
from exporters.diagnostics import codes
from tests.app.cli.headless.batch import rows
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record
from tests.app.sweep.sweeps import Clock, small_plan


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(round_budget, "time", clock)
    return clock


def test_a_round_is_begun_if_it_is_likely_to_end_in_time(clock: Clock) -> None:
    budget = Budget(10.0)
    assert budget.fit({"a": 3.0})
    budget.learn("a", 4.0)
    budget.learn("b", 8.0)
    clock.now_s += 3.0
    assert budget.left_s == 7.0
    assert budget.fit({"a": 3.0})
    assert not budget.fit({"b": 3.0})
    assert budget.fit({"c": 99.0}), "as long as the others took: 6 s"
    budget.learn("a", 7.5)
    budget.learn("a", 4.0)
    assert not budget.fit({"a": 3.0}), "a round took 7.5 s, and another may"
    clock.now_s += 8.0
    assert budget.left_s == 0.0


def test_a_command_that_took_its_budget_to_start_begins_no_round(tmp_path: Path) -> None:
    start_s = time.monotonic() - 100.0
    code, _ = run_of(tmp_path, start_s=start_s, budget_s=50.0)
    assert code == 1
    assert {row["status"] for row in rows(tmp_path / "run")} == {"not_run"}


def test_exports_leave_half_of_the_time_to_rounds_and_these_some_to_what_comes_after(
    clock: Clock,
) -> None:
    budget, endless = Budget(100.0), Budget()
    budget.learn("a", 5.0)
    budget.reserve(4.0)
    endless.reserve(1000.0)
    assert budget.export_fits
    clock.now_s += 55.0
    assert not budget.export_fits
    clock.now_s += 15.0
    budget.reserve(1000.0)
    assert budget.fit({"a": 1.0})
    clock.now_s += 20.0
    assert not budget.fit({"a": 1.0}), "a quarter of it is kept"
    assert budget.left_s == 10.0, "and is there for what comes after"
    budget.reserve(4.0)
    assert endless.export_fits and endless.fit({"a": 1e9})


def run_of(folder: Path, start_s: float | None = None, **values: object) -> tuple[int, str]:
    """Exit code and what is printed of four cases."""
    plan = small_plan(folder, {"options": {"fake.latency_us": [10, 20, 30, 40]}}, **values)
    out = io.StringIO()
    output = RunOutput(out=out, log=io.StringIO())
    with create_run(plan, folder / "run") as run:
        code = measure(run, output, make_run=partial(SweepRun, start_s=start_s))
    return code, out.getvalue()


@pytest.mark.alone
@pytest.mark.usefixtures("brief")
def test_every_case_has_its_first_round_before_any_has_more(tmp_path: Path) -> None:
    code, out = run_of(tmp_path, rounds=50, budget_s=4, profile="glance")
    counts = {len(rounds) for rounds in read_run(tmp_path / "run").rounds.values()}
    assert len(read_run(tmp_path / "run").rounds) == 4
    assert max(counts) - min(counts) <= 1
    assert 1 <= min(counts) <= max(counts) < 50
    assert code == 0, "each case has a row with a number"
    assert "rounds that this run lacks" in out
    assert graphlap_line("resume", str(tmp_path / "run")) in out


CASE = Case("add.onnx", "fake")


def told(path: Path, latencies_us: Sequence[Sequence[float]], **values: Any) -> tuple[int, Row]:
    """How many rounds the case is to have after these, by a plan of these values, and its row."""
    clock = {"clock": values.pop("clock")} if "clock" in values else {}
    grid = {"models": ["mlp"], "runtimes": ["fake"]}
    plan = parse_plan({"sweeps": [grid], **values}, "test")
    manifest = manifest_of((CASE,), plan.lengths.rounds, plan)
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for number, round_us in enumerate(latencies_us):
            record(folder, CASE, number, round_us, **clock)
    run, table = read_run(path), Rows()
    rule = run.manifest.requested_plan.stopping
    assert rule is not None
    return PreciseRounds(rule, run, table).planned_rounds(CASE), table.of(run)[0]


APART_US = [[100.0 + number] * 60 for number in range(7)]


@pytest.mark.parametrize(
    ("latencies_us", "values", "planned", "reason", "code"),
    [
        (APART_US, {"precise": {"p50": 0.001}, "rounds": 7}, 7,
         " (0.1 % asked) after 7 rounds, the most there may be", "interval_not_reached"),
        (APART_US[:3], {"precise": {"p50": 0.001}}, 5,
         "ended after 3 rounds, before the look at 5: p50 within", "rounds_missing"),
        ([[100.0 + k % 7 for k in range(400)]] * 5, {"precise": {"p99": 0.1}}, 5,
         "which takes longer rounds", "interval_unavailable"),
        (APART_US[:5], {"precise": {"p50": 1e-9}, "clock": "simulated"}, 5,
         "5 rounds of a simulation", ""),
    ],
    ids=["bound", "before its look", "too short for a tail", "simulation"],
)  # fmt: skip
def test_why_rounds_end_is_told_by_the_row(
    tmp_path: Path,
    latencies_us: Sequence[Sequence[float]],
    values: dict[str, Any],
    planned: int,
    reason: str,
    code: str,
) -> None:
    left, row = told(tmp_path / "run", latencies_us, **values)
    assert left == planned and reason in str(row["stop_reason"])
    by_code = {entry.code: entry.parameters for entry in diagnostics_of(row)}
    assert {*by_code} & {"interval_not_reached", "interval_unavailable"} == {code} - {
        "rounds_missing",
        "",
    }
    if code == "interval_not_reached":
        assert (by_code[code]["rounds"], by_code[code]["requested"]) == (7, 0.001)
    if code == "rounds_missing":
        assert (by_code[code]["measured"], by_code[code]["planned"]) == (3, 5)


def test_a_case_has_rounds_until_its_interval_is_narrow(tmp_path: Path) -> None:
    """Levels that spread by 3 %: ±5 % takes more than five of them and fewer than forty."""
    levels = [
        [100.0 + 6.0 * (number % 2), 100.001 + 6.0 * (number % 2)] * 30 for number in range(40)
    ]
    remaining: list[int] = []
    while len(remaining) < 40 and remaining[-1:] != [len(remaining)]:
        count = len(remaining) + 1
        left, row = told(tmp_path / f"{count}", levels[:count], precise={"p50": 0.05})
        remaining.append(left)
    assert remaining[:5] == [5, 5, 5, 5, 7]
    assert remaining[-2:] == [len(remaining), len(remaining)]
    assert len(remaining) in (7, 10, 14, 20, 28)
    assert str(row["stop_reason"]).startswith("precise: p50 within ")
    assert str(row["stop_reason"]).endswith(f" after {len(remaining)} rounds")
    assert not {"rounds_missing", "interval_not_reached"} & {*codes(diagnostics_of(row))}
    low, high = row["latency_p50_ci_low_us"], row["latency_p50_ci_high_us"]
    assert isinstance(low, float) and isinstance(high, float)
    value = float(row["latency_p50_us"] or 0)
    assert low / value >= 0.95 and high / value <= 1.05, "the row's own interval is as narrow"
    assert row["ci_method"] == "t_ranks_looks"


@pytest.mark.usefixtures("brief")
def test_a_run_adds_rounds_and_a_resumed_one_goes_on_where_it_stood(tmp_path: Path) -> None:
    def measured(folder: RunFolder) -> tuple[int, str, str]:
        log, out = io.StringIO(), io.StringIO()
        with folder:
            code = measure(folder, RunOutput(out=out, log=log))
        return code, out.getvalue(), " ".join(log.getvalue().split())

    plan = small_plan(tmp_path, precise={"p50": 0.9}, rounds=7)
    hurried_plan = plan.model_copy(update={"budget_s": 0.01})
    code, out, _ = measured(create_run(hurried_plan, tmp_path / "run"))
    assert code == 1
    assert "the 5 rounds that this run lacks" in out
    code, _, log = measured(create_run(plan, tmp_path / "more"))
    assert code == 0
    assert "5 rounds or more" in log
    assert "[5/5, " in log and "; p50 within" in log and "no more rounds" in log
    run = read_run(tmp_path / "more")
    (case,) = run.cases
    assert sorted(run.rounds[case.case_id]) == [0, 1, 2, 3, 4]
    assert "precise: p50 within" in str(Rows().of(run)[0]["stop_reason"])
    journal = next((tmp_path / "more" / "journal").iterdir())
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]))  # as if it had been killed in its fifth round
    assert measured(RunFolder.reopen(tmp_path / "more"))[0] == 0
    assert sorted(read_run(tmp_path / "more").rounds[case.case_id]) == [0, 1, 2, 3, 4]
