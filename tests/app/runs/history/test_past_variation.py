"""Two runs compared with what the machine's earlier runs say of its variation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from app.analysis.comparison.pairing import CYCLES
from app.cases.case import identity_of
from app.cases.column import Row
from app.cli.interface.run import compare
from app.runs.history.past_runs import PastRun
from app.runs.history.run_comparison import past_variations
from app.runs.history.trends import History, Point
from app.stats.verdict import NO_RUN_VARIATION, RUN_VARIATION
from tests.app.cli.headless.batch import run
from tests.app.present.console.telling import told
from tests.app.run_folder.runs import CASE
from tests.app.runs.history.pasts import night_at

Compared = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    """The exit code of a gate and the percentiles of CASE."""

    def compare(*words: object) -> tuple[int, dict[str, Any]]:
        answer = tmp_path / "answer.json"
        code, _ = told("compare", "--fail-on", "slower", "--json", answer, *words)
        entries = json.loads(answer.read_text())["cases"]
        (entry,) = (entry for entry in entries if entry["case_id"] == CASE.case_id)
        return code, entry["percentiles"]

    return compare


@pytest.mark.parametrize(
    ("flags", "names"),
    [((), ["p50", "p99"]), (("--metrics", "mean,throughput"), ["mean", "throughput"])],
)
def test_runs_beside_the_two_say_by_how_much_runs_differ(
    tmp_path: Path, compared: Compared, flags: tuple[str, ...], names: list[str]
) -> None:
    for number in range(7):
        night_at(tmp_path / "runs" / f"{number}", number)
    night_at(tmp_path / "runs" / "new", 7, 1.1)
    code, figures = compared(tmp_path / "runs" / "6", tmp_path / "runs" / "new", *flags)
    assert code == 3
    assert {*figures} == {*names}
    assert {figure["run_variation_from"] for figure in figures.values()} == {"history"}
    assert "p50" not in names or {entry["verdict"] for entry in figures.values()} == {"slower"}


def test_the_p50_in_cycles_has_a_history_of_its_own() -> None:
    """Whatever the clocks were; a run without a typical clock has no part in it."""
    clocks = (3000.0, 2800.0, 2500.0, None)
    cells: Row = {"status": "ok", "valid": True, "host": "here", "clock": "wall"}
    runs = tuple(
        PastRun(Path(), str(number), "", {"here": {"cpu": "one"}}, ((CASE, row),))
        for number, mhz in enumerate(clocks)
        for row in [{**cells, "typical_clock_mhz": mhz, "typical_clock_p50_us": 3e5 / (mhz or 1.0)}]
    )
    key = identity_of(CASE), CYCLES, "wall", "here", "one"
    variation = past_variations(History("", 0.02, runs, (), ()), set())[key]
    assert variation.freedom == 2 and variation.deviation < 0.011, "the least that is assumed"


def test_runs_of_another_machine_are_no_history(tmp_path: Path, compared: Compared) -> None:
    for number in range(6):
        night_at(tmp_path / "runs" / f"{number}", number, 1.0, {"cpu": "another processor"})
    first = night_at(tmp_path / "runs" / "a", 6)
    second = night_at(tmp_path / "runs" / "b", 7, 1.1)
    assert compared(first, second)[1]["p50"]["run_variation_from"] == "stated"
    code, figures = compared(first, second, "--metrics", "mean,throughput")
    assert code == 0
    assert {figure["reason"] for figure in figures.values()} == {NO_RUN_VARIATION}


def test_the_compared_runs_are_no_part_of_their_own_history(
    tmp_path: Path, compared: Compared
) -> None:
    """Two earlier runs are too few; with the two that are compared there would be four."""
    for number in range(3):
        night_at(tmp_path / "runs" / f"{number}", number)
    second = night_at(tmp_path / "runs" / "new", 3, 1.1)
    code, figures = compared(tmp_path / "runs" / "2", second)
    assert code == 0
    assert figures["p50"]["reason"] == RUN_VARIATION
    assert figures["p50"]["run_variation_from"] == "stated"
    assert figures["p99"]["reason"] == NO_RUN_VARIATION
    assert figures["p99"]["ratio_ci_low"] is None


def test_a_history_can_be_named_and_a_wrong_one_is_refused(
    tmp_path: Path, compared: Compared
) -> None:
    for number in range(6):
        night_at(tmp_path / "past" / "deep" / f"{number}", number)
    first = night_at(tmp_path / "a" / "run", 6)
    second = night_at(tmp_path / "b" / "run", 7, 1.1)
    assert compared(first, second)[0] == 0
    code, figures = compared(first, second, "--history", tmp_path / "past")
    assert (code, figures["p50"]["run_variation_from"]) == (3, "history")
    code, _, errors = run("compare", str(first), str(second), "--history", "absent")
    assert code == 2 and "absent" in errors
    for history, source in ((None, "stated"), (tmp_path / "past", "history")):
        cases = compare(first, second, history=history).found.cases
        (case,) = (case for case in cases if case.case_id == CASE.case_id)
        variation = case.percentiles["p50"].verdict.variation
        assert variation is not None and variation.source == source, "Python compares as well"


def test_a_change_of_the_code_in_the_past_is_no_variation_of_the_machine(
    tmp_path: Path, compared: Compared
) -> None:
    factors = [1.0] * 8 + [0.7] * 8
    for number, factor in enumerate(factors):
        night_at(tmp_path / "runs" / f"{number:02}", number, factor)
    second = night_at(tmp_path / "runs" / "new", 16, 0.77)
    _, figures = compared(tmp_path / "runs" / "15", second)
    assert figures["p50"]["verdict"] == "slower"
    assert figures["p50"]["run_variation"] < 0.02


def test_a_run_that_ends_is_compared_with_a_stored_one_by_the_history_too(tmp_path: Path) -> None:
    """A whole run that is resumed measures nothing and is compared."""
    for number in range(6):
        night_at(tmp_path / "past" / f"{number}", number)
    first = night_at(tmp_path / "a" / "run", 6)
    second = night_at(tmp_path / "b" / "run", 7, 1.1)
    for history, code in (((), 0), (("--history", tmp_path / "past"), 3)):
        line = ("resume", second, "--against", first, "--fail-on", "slower")
        assert told(*line, *history)[0] == code


def test_an_interval_that_begins_at_zero_tells_no_error() -> None:
    run = cast("PastRun", None)
    assert Point(run, 1.0, 0.5, 2.0, rounds=9).error is not None
    assert Point(run, 1.0, 0.0, 2.0, rounds=9).error is None
