"""Cases over the rate and over the gap: which make a curve, and where its knee is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cases.scenario import Scenario
from app.plot_data.curves import curves
from app.plot_data.series import Series
from tests.app.gui.synthetic import series


def _make_series(
    scenario: str, p50: float, p99: float, runtime: str = "ort-cpu", **row: object
) -> Series:
    """A case with these figures and nothing else."""
    one = series(runtime, key=f"{runtime} {scenario} {row}", count=1, rounds=1, finished=False)
    case = replace(one.case, scenario=Scenario.parse(scenario), runtime=runtime)
    figures = {"latency_p50_us": p50, "latency_p99_us": p99}
    return replace(one, case=case, row={**one.row, **figures, **row})


def _make_paced(*gaps: str, runtime: str = "ort-cpu") -> list[Series]:
    return [_make_series(f"paced:{gap}", 10.0 + k, 20.0 + k, runtime) for k, gap in enumerate(gaps)]


def test_cases_that_differ_in_their_load_alone_make_a_curve() -> None:
    cases = [
        *_make_paced("1ms", "20us", "100us"),
        *_make_paced("20us", "1ms", runtime="torch-cpu"),
        *(_make_series(f"poisson:{rate}/s", 10.0, 20.0) for rate in (400, 100, 200)),
        series(key="closed"),
    ]
    gap, rate = curves(cases)
    assert (gap.quantity, gap.places()) == ("gap", [20.0, 100.0, 1000.0])
    assert (rate.quantity, rate.places()) == ("rate", [100.0, 200.0, 400.0])
    assert [gap.name, rate.name] == ["ort-cpu", "ort-cpu"], "two gaps of torch-cpu are no curve"


def test_even_and_poisson_arrivals_are_curves_of_their_own() -> None:
    cases = [
        _make_series(f"{k}:{r}/s", 10.0, 20.0) for k in ("rate", "poisson") for r in (100, 200, 400)
    ]
    assert [curve.name for curve in curves(cases)] == ["ort-cpu rate", "ort-cpu poisson"]


@pytest.mark.parametrize(
    ("p50_us", "knee"),
    [
        ((10, 10, 11, 13, 20, 400), 500.0),  # rates over p50: 10, 20, 27, 38, 25, 1.5
        ((10, 10, 10, 10, 10, 10), None),
        ((10, 25, 40, 80, 160, 320), 100.0),
    ],
)
def test_the_knee_is_where_a_queue_does_most_for_its_wait(
    p50_us: tuple[float, ...], knee: float | None
) -> None:
    rates = (100, 200, 300, 500, 510, 600)
    cases = [_make_series(f"rate:{r}/s", us, 2 * us) for r, us in zip(rates, p50_us, strict=True)]
    (curve,) = curves(cases)
    assert curve.knee_hz() == knee
