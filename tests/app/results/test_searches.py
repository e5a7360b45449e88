"""The search for the largest batch: what is tried next, and how its end is told."""

from __future__ import annotations

import pytest

from app.cases.status import Status
from app.results.searches import MOST, largest_fit, next_batch, stopped_by


def search(limit: int, first: int = 1) -> tuple[list[int], int]:
    """The batches tried where `limit` is the largest that fits, and what was found."""
    tried: dict[int, Status] = {}
    while (batch := next_batch(tried, first)) is not None:
        assert batch not in tried, "no batch is tried twice"
        tried[batch] = "ok" if batch <= limit else "out_of_memory"
    return list(tried), largest_fit(tried)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 31, 32])
def test_small_limits_are_found_exactly(limit: int) -> None:
    assert search(limit)[1] == limit


@pytest.mark.parametrize("limit", [33, 100, 1000, 1023, 1024, 40_000])
def test_large_limits_are_found_within_a_32nd(limit: int) -> None:
    tried, found = search(limit)
    assert limit * 31 / 32 - 1 <= found <= limit
    assert len(tried) <= 2 * limit.bit_length() + 2, "doubling and bisection, no walk"


def test_it_doubles_before_it_bisects() -> None:
    assert search(5)[0] == [1, 2, 4, 8, 6, 5]


def test_a_first_try_that_is_too_large_is_gone_below() -> None:
    assert search(5, first=64)[1] == 5
    assert search(0)[1] == 0


def test_the_search_has_an_upper_end() -> None:
    assert search(10**9)[1] == MOST


FAILURES: tuple[Status, ...] = (
    "crashed",
    "timeout",
    "wrong_output",
    "unsupported",
    "compile_failed",
    "run_failed",
)


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("limit", [5, 100])
def test_however_a_batch_fails_the_largest_that_runs_is_found(status: Status, limit: int) -> None:
    """Engines refuse what has more than 2^31 elements, crash on it or answer wrongly."""
    tried: dict[int, Status] = {}
    while (batch := next_batch(tried)) is not None:
        tried[batch] = "ok" if batch <= limit else status
    assert limit * 31 / 32 - 1 <= largest_fit(tried) <= limit
    assert stopped_by(tried).startswith(status.replace("_", " "))


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("first", [1, 64])
def test_what_fails_at_once_is_no_question_of_size(status: Status, first: int) -> None:
    assert next_batch({first: status}, first) is None


@pytest.mark.parametrize(
    ("tried", "told"),
    [
        ({1: "ok", 2: "ok"}, "none larger was tried"),
        ({1: "ok", 2: "out_of_memory"}, "out of memory at 2"),
        ({1: "ok", 4: "partial", 8: "out_of_memory", 6: "crashed"}, "crashed at 6"),
        ({1: "unsupported"}, "unsupported at 1"),
    ],
)
def test_the_end_names_what_came_first_beyond_what_fits(
    tried: dict[int, Status], told: str
) -> None:
    assert stopped_by(tried) == told
