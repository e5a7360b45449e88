"""A search for the highest rate as its run folder tells it: steps, ends, and the answer."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.capabilities.slo_search.answer import (
    ANSWERS,
    RATES,
    found_rates,
    rate,
    sentence,
)
from app.capabilities.slo_search.present import SVG, rate_answer
from app.capabilities.slo_search.search import CURVE, SearchState, rate_searches
from app.cases.objectives import MINIMUM_ROUNDS, Target
from app.plan.settings.sweep import Sweep
from app.runs.following.reader import RunReader
from app.runs.reader import read_run
from app.stats.capacity import FIRST_LOOK
from tests.app.capabilities.slo_search.searched import (
    ONE,
    TWO,
    Script,
    new_search,
    play,
    record_round,
    searched,
)

TARGET = Target(99.0, 5000.0)
SLO = str(TARGET)
TRUE_HZ = 561.0
"""Where the p99 of constant services of 1 ms is 5 ms, by the distribution of Erlang, 1909."""


def told(state: SearchState, target: Target = TARGET) -> str:
    return sentence("fake", state, target)


def bracketed(found: SearchState) -> None:
    """It is around the true rate, and the curve has rates far below it."""
    ends = found.bracket
    assert ends.low_hz is not None
    assert ends.high_hz is not None
    assert ends.low_hz <= TRUE_HZ <= ends.high_hz
    assert ends.high_hz <= 1.1 * ends.low_hz
    assert told(found).startswith(f"fake holds {rate(ends.low_hz)} at p99 <= 5.00 ms"), "promised"
    assert rate(ends.high_hz) in told(found), "and the bracket beside it"
    for part in CURVE:
        (point,) = [
            rate_point
            for rate_point in found.points
            if abs((rate_point.rate_hz or 0) / ends.low_hz - part) < 0.1 * part
        ]
        assert len(point.rounds) >= MINIMUM_ROUNDS
        assert point.verdict == "holds"
    rates = [point.rate_hz for point in found.points]
    assert rates == sorted(set(rates), key=lambda hz: hz or 0.0)
    figures = [point.rounds[0].figure_us or 0.0 for point in found.measured]
    assert figures[0] == 1000.0, "unloaded it is the service alone"
    assert figures[-1] > TARGET.limit_us
    assert figures == sorted(figures), "what requests have to wait for is in their latency"


def test_a_search_that_is_cut_off_anywhere_says_what_it_knows_goes_on_and_ends_alike(
    tmp_path: Path,
) -> None:
    """In every state: the figure without load, then the ends of the bracket as they come."""
    with new_search(tmp_path / "whole", SLO) as folder:
        (found,) = play(folder, Script())
    bracketed(found)
    states_seen: set[object] = set()
    with new_search(tmp_path / "run", SLO) as folder:
        for step in range(100):
            (state,) = play(folder, Script(), most_rounds=2 * (step > 0))
            if state.following is None:
                break
            message, ends = told(state), state.bracket
            assert ("resume the run" in message) != state.curve_only
            if not state.points:
                states_seen.add("unloaded")
                assert ("1.00 ms" in message) == bool(state.unloaded.rounds)
                continue
            states_seen.add((ends.low_hz is not None, ends.high_hz is not None))
            if ends.low_hz is not None:
                assert state.curve_only or f"at least {rate(ends.low_hz)}" in message
            if ends.high_hz is not None:
                assert state.curve_only or f"breaks at {rate(ends.high_hz)}" in message
    assert {"unloaded", (True, True)} <= states_seen
    assert searched(folder) == [state] == [found]


def test_each_batcher_is_searched_beside_the_case_without(tmp_path: Path) -> None:
    """Batches that take as long as one request are held by a server of eight times the rate."""
    grid = Sweep(models=("mlp",), batcher=("none", "max=8,wait=0us"))
    with new_search(tmp_path / "run", SLO, sweeps=(grid,)) as folder:
        alone, batcher_state = play(folder, Script())
    assert alone.unloaded == batcher_state.unloaded, "it is measured once, without a batcher"
    ends = batcher_state.bracket
    assert (alone.bracket.high_hz or 0.0) < TRUE_HZ * 1.1
    assert 4.0 * TRUE_HZ < (ends.low_hz or 0.0) < (ends.high_hz or 0.0) < 8000.0


@pytest.mark.parametrize(
    ("target", "highest_hz", "message"),
    [
        (Target(99.0, 900.0), None,
         "fake holds no rate at p99 <= 900 µs: unloaded its p99 is 1.00 ms, the least possible"),
        (Target(99.0, 1001.0), None, "misses it, and in a closed loop its p99 is 1.00 ms"),
        # The mean response of M/D/1: 1 + rho / (2 (1 - rho)) services are 2 at rho = 2/3.
        (Target(None, 2000.0), 1000.0 * 2 / 3, "at mean <= 2.00 ms"),
        # The service rate, however lenient: a round is over before its queue is that long.
        (Target(99.0, 10_000_000.0), 1000.0, "at p99 <= 10.0 s"),
    ],
)  # fmt: skip
def test_how_a_search_ends_follows_from_its_target(
    tmp_path: Path, target: Target, highest_hz: float | None, message: str
) -> None:
    with new_search(tmp_path / "run", str(target)) as folder:
        (state,) = play(folder, Script())
    assert message in told(state, target)
    ends = state.bracket
    assert (ends.low_hz is None) == (highest_hz is None)
    if highest_hz is not None:
        assert (ends.low_hz or 0.0) <= highest_hz <= (ends.high_hz or 0.0)


def test_no_rate_is_promised_from_which_on_most_rounds_came_late(tmp_path: Path) -> None:
    """The few rounds in time there are those of a quiet moment, and show nothing of the rate."""
    with new_search(tmp_path / "run", SLO) as folder:
        play(folder, Script(most_hz=300.0, some_in_time=True), most_rounds=12)
        search = rate_searches(read_run(folder.path))[0]
        for number in range(3):
            record_round(folder, search, 300.0, number, Script(most_hz=300.0, some_in_time=True))
        (state,) = play(folder, Script(most_hz=300.0, some_in_time=True))
    ends = state.bracket
    assert ends.not_offered and ends.high_hz == 300.0
    assert ends.low_hz is not None and ends.low_hz < 300.0
    assert "requests of 300/s themselves came late" in told(state)
    assert len([point for point in state.points if point.verdict == "not_offered"]) <= 4


def test_a_round_that_fails_ends_the_search_with_its_reason(tmp_path: Path) -> None:
    with new_search(tmp_path / "all", SLO) as folder:
        (state,) = play(folder, Script(fails_at_hz=1.0))
    assert told(state) == "fake holds no rate at p99 <= 5.00 ms: the engine said no: ask it why"
    lenient = Target(99.0, 10_000_000.0)
    with new_search(tmp_path / "some", str(lenient)) as folder:
        (state,) = play(folder, Script(fails_at_hz=900.0))
    assert state.following is None
    assert [point.verdict for point in state.points][-1] == "failed"
    assert told(state, lenient).endswith("the engine said no: ask it why")


@pytest.mark.parametrize("rounds", [3, 5])
def test_a_search_has_five_times_the_rounds_and_those_of_the_curve(
    tmp_path: Path, rounds: int
) -> None:
    with new_search(tmp_path / "run", SLO, rounds=rounds) as folder:
        (state,) = play(folder, Script())
    assert state.following is None
    assert len(state.unloaded.rounds) == min(rounds, FIRST_LOOK)
    counts = {point.rate_hz or 0.0: len(point.rounds) for point in state.points}
    limit_hz = 0.83 * (state.bracket.low_hz or 0.0)
    assert sum(count for hz, count in counts.items() if hz > limit_hz) <= 5 * rounds
    assert sum(counts.values()) <= 5 * rounds + 9


def test_the_table_and_the_files_have_every_rate(tmp_path: Path) -> None:
    with new_search(tmp_path / "run", SLO, (ONE, TWO)) as folder:
        first, two = play(folder, Script())
        answer = rate_answer(read_run(folder.path))
        assert answer is not None
        for name, data in answer.files():
            folder.write(name, data)
    assert (two.bracket.low_hz or 0.0) > 2.0 * (first.bracket.high_hz or 0.0), "lanes hold more"
    answers = found_rates(folder.path / ANSWERS, read_run(folder.path))
    rows = list(csv.DictReader(io.StringIO((folder.path / RATES).read_text("utf-8"))))
    assert len(rows) == len(first.measured) + len(two.measured)
    assert {row["subject"] for row in rows} == {"fake", "fake with 2 sessions"}
    knees = [row for row in rows if row["knee"] == "true"]
    for row, searching in zip(knees, (first, two), strict=True):
        highest_hz = searching.points[-1].rate_hz or 0.0
        offered_hz = float(row["offered_rate_hz"])
        assert 0.25 * TRUE_HZ < offered_hz < highest_hz, "something lies beyond it"
    unloaded_us = [float(row["value_us"]) for row in rows if not row["offered_rate_hz"]]
    assert unloaded_us == pytest.approx([1000.0, 1000.0])
    picture = ElementTree.fromstring((folder.path / SVG).read_text("utf-8"))
    circles = [element for element in picture.iter() if element.tag.endswith("circle")]
    assert len(circles) == len(first.points) + len(two.points)
    assert {*answers} == {point.case.case_id for point in (*first.points, *two.points)}
    stored_answer = answers[first.points[0].case.case_id]
    assert (stored_answer.latency, stored_answer.low_hz) == ("p99", first.bracket.low_hz)
    with closing(RunReader(folder.path)) as reader:
        state = reader.poll()
    assert state is not None
    rates = {item.key: item.found["slo"] for item in state.series if item.found}
    assert rates == answers, "the window has them from the file, and reads no samples"
