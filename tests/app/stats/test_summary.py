"""The figures of a row: what is shown, what is left empty and why, what is warned of."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.summary import Summary, summarise
from exporters.diagnostics import codes, diagnostic
from runtimes.execution import Samples


def samples(latency_ns: np.ndarray, late_ns: int = 0) -> Samples:
    started_ns = np.cumsum(latency_ns) + 1_000_000
    return Samples(
        started_ns - late_ns, started_ns, started_ns + latency_ns.astype(np.int64), "wall"
    )


def summary_of(*rounds: np.ndarray) -> Summary:
    summary = summarise([samples(latency_ns) for latency_ns in rounds])
    assert summary is not None
    return summary


def normal(count: int = 5000, seed: int = 3) -> np.ndarray:
    latency: np.ndarray = np.random.default_rng(seed).normal(100_000, 100, count).astype(np.int64)
    return latency


def test_a_percentile_that_the_samples_cannot_support_is_empty_and_says_why() -> None:
    summary = summary_of(np.random.default_rng(1).permutation(np.arange(1000, 1300)))
    assert summary.value_us("p95") is not None
    assert summary.value_us("p99") is None
    assert summary.interval_us("p99") is None
    assert "300 of 368 runs" in summary.figures["p99"].absent
    assert summary.pooled["p99"] is None
    assert summary.response_p99_us is None


def test_figures_of_known_samples() -> None:
    summary = summary_of(np.random.default_rng(1).permutation(np.arange(1, 1001) * 1000))
    names = ("mean", "p50", "p99")
    assert [summary.value_us(name) for name in names] == pytest.approx([500.5, 500.0, 990.0])
    assert (summary.min_us, summary.max_us, summary.iterations) == (1.0, 1000.0, 1000)
    slow = summary_of(np.array([90_000] * 20 + [1000] * 980))
    assert (slow.outliers, slow.max_us) == (20, 90.0)
    assert diagnostic("outliers", share=0.02) in slow.warnings


def test_what_is_quoted_is_a_typical_process_and_not_the_mixture() -> None:
    """A process that is faster runs more often, and must not weigh more for it."""
    fast, slow = np.full(90_000, 100_000), np.full(10_000, 400_000)
    summary = summary_of(fast, slow)
    assert summary.value_us("p50") == pytest.approx(200.0), "the root of 100 times 400"
    assert summary.value_us("mean") == pytest.approx(200.0)
    assert summary.pooled["p50"] == 100.0


def test_an_interval_holds_the_iterations_and_the_processes() -> None:
    latencies = normal()
    equal_rounds, different_rounds = (
        summary_of(latencies, latencies, latencies),
        summary_of(latencies, latencies * 2, latencies),
    )
    narrow_interval, wide_interval = (
        equal_rounds.interval_us("p50"),
        different_rounds.interval_us("p50"),
    )
    assert narrow_interval is not None
    assert wide_interval is not None
    assert 0.0 < narrow_interval.width < 0.1, (
        "the ranks of 15,000 samples of which the deviation is 0.1"
    )
    assert wide_interval.low < 100.0 < 200.0 < wide_interval.high
    assert "rounds_differ" in codes(different_rounds.warnings)


@pytest.mark.parametrize("rounds", [1, 2])
def test_too_few_rounds_have_a_figure_and_no_interval(rounds: int) -> None:
    summary = summary_of(*[normal(seed=seed) for seed in range(rounds)])
    assert summary.value_us("p50") == pytest.approx(100.0, abs=0.1)
    for name in ("mean", "p50", "p99"):
        assert summary.interval_us(name) is None
        assert summary.figures[name].absent == f"{rounds} of 3 rounds"


def test_few_rounds_are_marked_and_enough_are_not() -> None:
    assert summary_of(*[normal(seed=seed) for seed in range(7)]).marks == ("few_rounds",)
    assert summary_of(*[normal(seed=seed) for seed in range(8)]).marks == ()
    assert summary_of(*[normal(999, seed) for seed in range(8)]).marks == ("few_runs",)
    assert summary_of(*[normal(1000, seed) for seed in range(8)]).marks == ()


def test_what_a_short_round_did_is_the_same_whenever_its_clock_began() -> None:
    """It lasts 0.3 s, which are ten windows of 30 ms, and only six of the usual 50 ms."""
    early = samples(np.linspace(100_000, 106_000, 3000).astype(np.int64))
    hour_ns = 3600 * 10**9
    late = Samples(
        early.scheduled_ns + hour_ns,
        early.started_ns + hour_ns,
        early.finished_ns + hour_ns,
        "wall",
    )
    first, second = summarise([early]), summarise([late])
    assert first is not None and second is not None
    assert first.drift.startswith("slowed down") and second.drift == first.drift


@pytest.mark.parametrize(
    ("moved", "change", "codes"),
    [(2, 0.03, ()), (3, 0.03, ("latency_drift",)), (1, 0.08, ("latency_drift",)), (0, 0.0, ())],
)
def test_a_level_that_moves_is_warned_of_where_most_rounds_show_it_or_it_moves_far(
    moved: int, change: float, codes: tuple[str, ...]
) -> None:
    rounds = [
        np.linspace(1.0, 1.0 + change * (number < moved), 4000) * normal(4000, number)
        for number in range(4)
    ]
    summary = summary_of(*rounds)
    assert tuple(d.code for d in summary.warnings if d.code == "latency_drift") == codes
    assert summary.drift.count("in ") == (moved > 0), "the column has every movement"


def test_slow_spells_count_as_few_independent_samples() -> None:
    """Fifty slow runs in a row are one event, not fifty samples beyond p99."""
    alone, spells = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        latency, hit = normal(20_000, seed), rng.choice(20_000, 400, replace=False)
        alone.append(np.where(np.isin(np.arange(20_000), hit), 2 * latency, latency))
        spell_starts = rng.choice(400, 8, replace=False) * 50
        slow = (spell_starts[:, None] + np.arange(50)).ravel()
        spells.append(np.where(np.isin(np.arange(20_000), slow), 2 * latency, latency))
    single, clustered_summary = summary_of(*alone), summary_of(*spells)
    assert single.interval_us("p99") is not None
    assert single.effective_samples > 60_000
    assert clustered_summary.effective_samples < 10_000
    assert clustered_summary.interval_us("p99") is None
    assert "independent runs beyond it" in clustered_summary.figures["p99"].absent


def test_lanes_are_put_in_order_of_time_before_clusters_are_counted() -> None:
    """Two lanes that are slow in turn: kept one after the other they look like two spells."""
    latency = normal(40_000)
    slow = np.where(np.arange(40_000) % 50 == 0, 3 * latency, latency)
    ordered_samples = samples(slow)
    lanes = np.argsort(np.arange(40_000) % 2, kind="stable")
    by_lane_samples = Samples(
        ordered_samples.scheduled_ns[lanes],
        ordered_samples.started_ns[lanes],
        ordered_samples.finished_ns[lanes],
        "wall",
    )
    in_time, by_lane = summarise([ordered_samples]), summarise([by_lane_samples])
    assert in_time is not None and by_lane is not None
    assert in_time.effective_samples == by_lane.effective_samples


def test_nothing_that_goes_on_here_disturbs_a_simulated_clock() -> None:
    ends = np.cumsum(np.where(np.arange(1000) % 50, 1000, 90_000))
    starts = np.concatenate([[0], ends[:-1]])
    summaries = [summarise([Samples(starts, starts, ends, c)]) for c in ("wall", "simulated")]
    assert summaries[0] is not None and summaries[0].warnings
    assert summaries[1] is not None and summaries[1].warnings == ()


def test_response_counts_from_the_scheduled_start() -> None:
    summary = summarise([samples(np.full(400, 1000), late_ns=5000)])
    assert summary is not None
    assert (summary.response_p50_us, summary.start_lateness_p99_us) == (6.0, 5.0)
    empty = np.array([], dtype=np.int64)
    assert summarise([]) is summarise([Samples(empty, empty, empty, "wall")]) is None


@pytest.mark.parametrize(("count", "held"), [(5, 0.9375), (3, 0.75), (2, 0.5), (1, 0.0)])
def test_a_slow_model_has_a_median_and_the_widest_interval_that_is_true(
    count: int, held: float
) -> None:
    times = 1e9 * np.arange(1, count + 1)
    summary = summarise([samples(part) for part in (times[:1], times[1:]) if len(part)])
    assert summary is not None
    assert summary.value_us("p50") == pytest.approx(1e6 * ((count + 1) // 2))
    interval = summary.interval_us("p50")
    bounds = None if interval is None else (interval.low, interval.high)
    assert bounds == (None if count == 1 else (1e6, 1e6 * count))
    expected = diagnostic("few_runs", runs=count, confidence=held, more=6 - count)
    assert summary.warnings == (expected,)
    assert summary.value_us("p99") is None
