"""Marked ranges: which samples they have, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, WARMUP
from app.gui.plots.read.lit import Lit, samples_table
from app.gui.plots.read.reading import Brush, Span
from app.gui.plots.read.readout import brush_text, lit_in_short, lit_text, rank_text, short_names
from app.plot_data.series import Series
from tests.app.gui.synthetic import open_loop, records, series

US = 1000


def _case(*rounds: list[float], warmup: int = 0, key: str = "a") -> Series:
    """Rounds of samples of so many microseconds, back to back."""
    arrays = tuple(
        records((np.array(latency_us) * US).astype(np.int64), warmup=warmup)
        for latency_us in rounds
    )
    return replace(series(key=key, count=10, rounds=1), rounds=arrays)


def test_a_range_has_the_measured_samples_from_its_low_end_to_below_its_high_one() -> None:
    case_series = _case([20, 21, 50, 20, 80], [20, 50, 20], warmup=1)
    selection = Lit(Brush("latency", 21e-6, 80e-6)).of(case_series)
    assert [indices.tolist() for indices in selection.rounds] == [[1, 2], [1]]
    assert (selection.samples, selection.of_samples) == (3, 6), "warm-up is not counted"
    assert selection.time_share == pytest.approx((21 + 50 + 50) / (21 + 50 + 20 + 80 + 50 + 20))


def test_iterations_of_a_round_are_lit_whatever_they_took() -> None:
    case_series = _case([20] * 10, [20] * 10, warmup=2)
    selection = Lit(Brush("latency", spans=(Span("a", 1, 0, 4), Span("b", 0, 0, 9)))).of(
        case_series
    )
    assert [indices.tolist() for indices in selection.rounds] == [[], [2, 3, 4]]
    assert Lit(Brush("latency", keys=("b",))).of(case_series).samples == 0


def test_what_a_round_adds_is_lit_too() -> None:
    whole = _case([20, 90] * 10)
    selection = Lit(Brush("latency", 50e-6))
    assert selection.of(replace(whole, rounds=(whole.rounds[0][:4],))).samples == 2
    assert selection.of(whole).samples == 10


def test_a_range_of_latencies_is_shown_in_another_part_of_the_time() -> None:
    case_series = open_loop(30_000, count=300)
    selection = Lit(Brush("latency", 100e-6))
    queue_ns = selection.spent(case_series, "queue").ns
    assert len(queue_ns) == selection.of(case_series).samples > 0
    assert (queue_ns + selection.spent(case_series, "service").ns).tolist() == selection.of(
        case_series
    ).spent.ns.tolist()


def test_the_readout_says_samples_shares_rounds_and_the_period() -> None:
    quick, slow = [20.0] * 99, [8000.0]
    case_series = _case((quick + slow) * 5, (quick + slow))
    selection = Lit(Brush("latency", 1.2e-3, 30e-3)).of(case_series)
    time = 6 * 8000 / (6 * 8000 + 594 * 20)
    assert lit_text(selection) == (
        f"6 samples, 1.0 % of the samples, {100 * time:.0f} % of the time; 5 in round 1; "
        "every 9.98 ms"
    )
    assert brush_text(Brush("latency", 1.2e-3, 30e-3)) == "1.200 to 30.00 ms"
    assert brush_text(Brush("latency", 1e-3)) == "1.000 ms and more"
    assert brush_text(Brush("latency", keys=("a",))) == "all"
    span = Span("a", 1, 1200, 1300)
    assert brush_text(Brush("latency", spans=(span,))) == "iterations 1,200 to 1,300 of round 2"
    assert lit_text(Lit(Brush("latency", 1.0)).of(case_series)) == "no samples"


def test_gaps_that_differ_are_no_period() -> None:
    rng = np.random.default_rng(3)
    latency = [20.0] * 4000
    for place in rng.choice(4000, 40, replace=False):
        latency[place] = 500.0
    text = lit_text(Lit(Brush("latency", 400e-6)).of(_case(latency)))
    assert "every" not in text and "apart in the median" in text


@pytest.mark.parametrize(
    ("below", "text"),
    [(0.0, "0.0 %"), (0.621, "62.1 %"), (0.992, "99.20 %"), (0.99996, "99.9960 %"), (1.0, "100 %")],
)
def test_a_rank_has_as_many_digits_as_it_has_nines(below: float, text: str) -> None:
    assert rank_text(below) == text


def test_a_rank_is_never_rounded_up_to_all() -> None:
    assert rank_text(1.0 - 1e-7).startswith("99.99999")


def test_exported_samples_are_those_that_are_lit() -> None:
    case_series = _case([20, 90, 20, 95], [20, 20, 92], warmup=1)
    header, rows = samples_table(Lit(Brush("latency", 50e-6)), [case_series])
    assert header[:4] == ["case", "clock", "round", "iteration"] and header[-1] == "latency_us"
    assert [row[2:4] for row in rows] == [[0, 1], [0, 3], [1, 2]]
    assert [row[-1] for row in rows] == pytest.approx([90.0, 95.0, 92.0])
    assert rows[0][4] == int(case_series.rounds[0]["started_ns"][1])


def test_beside_other_cases_a_case_is_called_by_what_it_does_not_share() -> None:
    labels = ["mlp · ort-cpu · batch 4", "mlp · ort-cpu · batch 8", "mlp · ort-cpu"]
    assert short_names(labels) == ["batch 4", "batch 8", "mlp · ort-cpu"]
    assert short_names(labels[:1]) == labels[:1] and short_names([]) == []
    case_series = _case([20.0] * 99 + [8000.0])
    assert (
        lit_in_short(Lit(Brush("latency", 1e-3)).of(case_series))
        == "1 sample, 1.0 %, 80 % of the time"
    )


def test_a_round_without_samples_lights_nothing() -> None:
    empty = replace(_case([20.0]), rounds=(np.zeros(0, RECORD),))
    selection = Lit(Brush("latency")).of(empty)
    assert selection.samples == 0 and selection.time_share == 0.0 and WARMUP != MEASURED
