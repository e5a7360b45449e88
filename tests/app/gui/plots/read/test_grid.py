"""Adaptive bins: never narrower than the clock's tick or two pixels, and no sample is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gui.plots.read.bins import Grid, grid_for, tick_ns

WIDTH_PX = 1000.0


def _body(median_ns: float, spread: float, count: int, tick: int = 1) -> np.ndarray:
    latency_ns = np.random.default_rng(7).normal(median_ns, spread * median_ns, count)
    return np.rint(latency_ns / tick).astype(np.int64) * tick


def _grid(values: np.ndarray, low_s: float, high_s: float) -> Grid:
    grid = grid_for([values], low_s, high_s, WIDTH_PX)
    assert grid is not None
    return grid


def test_bins_of_a_narrow_range_follow_freedman_and_diaconis_in_whole_ticks() -> None:
    values = _body(20_000, 0.01, 8000, tick=10)
    low, high = np.quantile(values, (0.25, 0.75))
    rule = 2.0 * (high - low) / 8000 ** (1 / 3)
    grid = _grid(values, 19e-6, 21e-6)
    assert not grid.log
    assert grid.step % 10 == 0
    # The next of 1, 2, 5, 10 … ticks is at most two and a half times what the rule asks for.
    assert rule <= grid.step <= 2.5 * rule
    assert grid.text == f"{grid.step:g} ns"


def test_a_coarse_clock_has_one_tick_in_each_bin_and_no_comb() -> None:
    values = _body(20_000, 0.01, 200_000, tick=40)
    grid = _grid(values, 19e-6, 21e-6)
    counts, _ = grid.count(values)
    filled_bins = np.flatnonzero(counts)
    assert tick_ns(values) == 40 and grid.step % 40 == 0
    middle = counts[filled_bins[0] : filled_bins[-1] + 1][3:-3]
    assert len(middle) > 5 and (middle > 0).all(), "no bin is empty for the clock's sake"


def test_a_bin_is_at_least_two_pixels_wide_where_it_is_narrowest() -> None:
    values = _body(20_000, 0.1, 2_000_000)
    for low_s, high_s in ((14e-6, 26e-6), (1e-6, 1e-3)):
        grid = _grid(values, low_s, high_s)
        edges = grid.edges_s[(grid.edges_s >= low_s) & (grid.edges_s <= high_s)]
        per_px = np.log10(high_s / low_s) / WIDTH_PX
        assert np.diff(np.log10(edges)).min() >= 1.98 * per_px


def test_samples_that_are_all_the_same_have_a_bin_of_one_tick_or_two_pixels() -> None:
    grid = _grid(np.full(500, 2480), 2.4e-6, 2.6e-6)
    counts, underflow = grid.count(np.full(500, 2480))
    assert counts.max() == 500 and underflow == 0
    assert grid_for([np.full(1, 2480)], 2.4e-6, 2.6e-6, WIDTH_PX) is None
    assert grid_for([np.full(9, 2480)], 1.0, 2.0, WIDTH_PX) is None, "none of them is seen"


@given(
    values=st.lists(st.integers(1, 10**9), min_size=3, max_size=60),
    low_ns=st.integers(1, 10**8),
    times=st.floats(1.01, 1e4),
)
def test_every_sample_is_below_within_or_above(
    values: list[int], low_ns: int, times: float
) -> None:
    latency_ns = np.array(values, np.int64)
    grid = grid_for([latency_ns], low_ns * 1e-9, low_ns * 1e-9 * times, WIDTH_PX)
    if grid is None:
        return
    counts, underflow = grid.count(latency_ns)
    assert grid.covers(low_ns * 1e-9, low_ns * 1e-9 * times)
    inner_counts, _ = np.histogram(latency_ns * 1e-9, grid.edges_s)
    overflow = int((latency_ns * 1e-9 > grid.edges_s[-1] * (1 + 1e-9)).sum())
    assert (
        counts.sum() + underflow + overflow == len(latency_ns)
        or abs(counts.sum() - inner_counts.sum()) <= 2
    )


@pytest.mark.parametrize(("step", "text"), [(20.0, "20 ns"), (1000.0, "1 µs")])
def test_a_heading_says_how_wide_bins_are(step: float, text: str) -> None:
    assert Grid(0.0, step, 4, log=False).text == text
    assert Grid(-6.0, 0.01, 4, log=True).text == "2.3 %"
