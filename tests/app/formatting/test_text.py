"""Numbers for people: the right unit, no false digits, no exponents."""

from __future__ import annotations

import pytest

from app.comparison.published_figures import published, published_for
from app.formatting import text


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [
        (None, "-"),
        (0.0456, "45.6 ns"),
        (1.0, "1.00 µs"),
        (24.14, "24.1 µs"),
        (999.9, "1.00 ms"),
        (1234.0, "1.23 ms"),
        (2.5e6, "2.50 s"),
        (1234e6, "1230 s"),
    ],
)
def test_a_latency_is_shown_in_the_unit_that_suits(microseconds: float | None, shown: str) -> None:
    assert text.latency(microseconds) == shown


def test_both_ends_of_an_interval_share_a_unit() -> None:
    assert text.interval(998.0, 1002.0) == "0.9980 to 1.002 ms"
    assert text.latency_range(0.5, 2000.0) == "500 ns to 2.00 ms", "unless they are far apart"
    assert text.interval(None, 1.0) == "-"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_durations_read_as_people_say_them(seconds: float, shown: str) -> None:
    assert text.duration(seconds) == shown


def test_the_published_tables_hold_the_twenty_means_of_the_vollo_tables() -> None:
    vollo = [figure for figure in published() if figure.source.startswith("VOLLO")]
    means = [figure for figure in vollo if figure.mean_us is not None]
    assert len(means) == 20
    assert {figure.device for figure in means} == {"V80", "IA-840F", "IA-420F"}
    v80 = next(f for f in published_for("lstm_large"))
    assert (v80.device, v80.mean_us, v80.p99_us) == ("V80", 8.5, 8.7)
    assert [f.throughput_per_s for f in published_for("char_cnn")] == [727.2]
    assert published_for("mlp") == ()


@pytest.mark.parametrize(
    ("size", "steps", "mean_us", "p99_us"),
    [("small", 64, 3.5, 4.3), ("medium", 96, 4.7, 5.4), ("large", 128, 13.2, 14.2)],
)
def test_the_low_latency_lstms_are_told_as_of_another_machine(
    size: str, steps: int, mean_us: float, p99_us: float
) -> None:
    (figure,) = published_for(f"lowlat_{size}_step")
    assert (figure.mean_us, figure.p99_us, figure.device) == (mean_us, p99_us, "RTX PRO 6000")
    assert figure.conditions == f"sliding window of {steps} steps, another machine"
    (floor,) = published_for(f"null(lowlat_{size}_step)")
    assert (floor.mean_us, floor.p99_us) == (2.4, 2.5)
