"""The search for the largest batch: what is tried next, and how its end is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.capabilities.largest_batch.search import (
    MAXIMUM_BATCH,
    RESOLUTION,
    Memory,
    largest_fit,
    next_batch,
    stopped_by,
)
from app.cases.status import Status


def search(
    limit: int, first: int = 1, failure: Status = "out_of_memory"
) -> tuple[dict[int, Status], int]:
    """The batches tried where `limit` is the largest that runs, and what was found."""
    statuses: dict[int, Status] = {}
    while (batch := next_batch(statuses, first)) is not None:
        assert batch not in statuses, "no batch is tried twice"
        statuses[batch] = "ok" if batch <= limit else failure
    return statuses, largest_fit(statuses)


@pytest.mark.parametrize("limit", [1, 2, 7, 31, 32, 33, 100, 1023, 1024, 40_000])
def test_limits_are_found_within_a_32nd_and_small_ones_exactly(limit: int) -> None:
    statuses, limit_found = search(limit)
    assert limit * 31 / 32 - (limit > 32) <= limit_found <= limit
    assert limit > 32 or limit_found == limit
    assert len(statuses) <= 2 * limit.bit_length() + 2, "doubling and bisection, no walk"


def test_it_doubles_before_it_bisects_goes_below_and_has_an_upper_end() -> None:
    assert [*search(5)[0]] == [1, 2, 4, 8, 6, 5]
    assert search(5, first=64)[1] == 5
    assert search(0)[1] == 0
    assert search(10**9)[1] == MAXIMUM_BATCH


FAILURES: tuple[Status, ...] = ("crashed", "timeout", "wrong_output", "unsupported")


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("limit", [5, 100])
def test_however_a_batch_fails_the_largest_that_runs_is_found(status: Status, limit: int) -> None:
    """Engines refuse what has more than 2^31 elements, crash on it or answer wrongly."""
    statuses, limit_found = search(limit, failure=status)
    assert limit * 31 / 32 - 1 <= limit_found <= limit
    assert stopped_by(statuses).startswith(status.replace("_", " "))


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


def search_by_memory(
    held_mib: Callable[[int], float], limit_mib: float, first: int = 1
) -> dict[int, Status]:
    """The tries where a batch runs if what it holds is within the limit; what fails holds nothing
    that is known."""
    statuses: dict[int, Status] = {}
    memory_mib: dict[int, float] = {}
    while (batch := next_batch(statuses, first, Memory(memory_mib, limit_mib))) is not None:
        assert batch not in statuses, "no batch is tried twice"
        fits = held_mib(batch) <= limit_mib
        statuses[batch] = "ok" if fits else "out_of_memory"
        if fits:
            memory_mib[batch] = held_mib(batch)
    return statuses


def is_confirmed(statuses: dict[int, Status]) -> bool:
    """The answer ran, and a batch within the resolution beyond it failed."""
    fits = largest_fit(statuses)
    failures = [batch for batch, status in statuses.items() if status != "ok" and batch > fits]
    return bool(failures) and min(failures) - fits <= max(1, fits // RESOLUTION)


@settings(derandomize=True, deadline=None)
@given(base=st.floats(50, 2000), slope=st.floats(0.5, 400))
def test_memory_that_grows_with_the_batch_predicts_the_limit(base: float, slope: float) -> None:
    statuses = search_by_memory(lambda batch: base + slope * batch, 4096)
    limit = int((4096 - base) / slope)
    assert is_confirmed(statuses)
    assert limit * (RESOLUTION - 1) / RESOLUTION - 1 <= largest_fit(statuses) <= limit
    growths = 1 + limit.bit_length() // 3
    assert len(statuses) <= growths + 4, "eightfold growth, the predicted batch and the next one"


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    base=st.floats(10, 3000),
    slope=st.floats(0.01, 500),
    bend=st.floats(0.5, 2.0),
    step=st.integers(1, 200),
    first=st.sampled_from([1, 4, 64]),
)
def test_memory_that_bends_or_comes_in_steps_is_searched_to_the_end(
    base: float, slope: float, bend: float, step: int, first: int
) -> None:
    """Pools grow in steps, and some engines need more than in proportion."""

    def memory_at(batch: int) -> float:
        return base + slope * float(-(-batch // step) * step) ** bend

    statuses = search_by_memory(memory_at, 4096, first)
    if largest_fit(statuses):
        assert is_confirmed(statuses) or largest_fit(statuses) == MAXIMUM_BATCH
    assert len(statuses) <= 45


@settings(derandomize=True, deadline=None)
@given(base=st.floats(100, 300), slope=st.floats(1.5, 8), weights=st.floats(1.5, 2.0))
def test_weights_that_hold_more_than_small_batches_do_not_mislead(
    base: float, slope: float, weights: float
) -> None:
    """While weights are read more is held than small batches need, so the first slopes are flat."""
    statuses = search_by_memory(lambda batch: max(weights * base, base + slope * batch), 4096)
    assert is_confirmed(statuses)
    assert len(statuses) <= 9, "a line through a flat part would be followed by bisection"


def test_memory_that_says_nothing_leaves_bisection() -> None:
    """On a GPU the host's memory is the same at every batch."""
    statuses: dict[int, Status] = {}
    memory_mib: dict[int, float] = {}
    while (batch := next_batch(statuses, 1, Memory(memory_mib, 4096))) is not None:
        statuses[batch], memory_mib[batch] = ("ok" if batch <= 1000 else "out_of_memory"), 300.0
    assert is_confirmed(statuses)
    assert len(statuses) <= 16
