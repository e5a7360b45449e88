"""Cases over two of their settings: who stands where, who is the best, and whose rival is who."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from app.analysis.plot_data.curves import curves
from app.analysis.plot_data.matrix import VARIANT, Cell, Pivot, pivot, sides
from app.analysis.plot_data.series import Part, Series, part_ns, variants
from app.cases.round import RECORD
from app.cases.scenario import Scenario
from runtimes.execution import Clock
from tests.app.gui.synthetic import failed, series

P50 = "latency_p50_us"


def _case(runtime: str, p50_us: float, batch: int = 1, clock: Clock = "wall", **row: Any) -> Series:
    key = f"{runtime} {batch} {row}"
    base = series(
        runtime, "m", key=key, count=20, rounds=1, clock=clock, finished=False, batch_size=batch,
        **row,
    )  # fmt: skip
    return replace(base, row={**base.row, P50: p50_us})


def _find_cell(found: Pivot, row: str, column: str) -> Cell:
    place = (found.rows.index(row), found.columns.index(column))
    (cell,) = (cell for cell in found.cells if (cell.row, cell.column) == place)
    return cell


@pytest.fixture
def cases() -> list[Series]:
    """Two runtimes at three batch sizes on one and two threads; a card, and one that failed."""
    grid = [
        _case(name, base * batch / threads, batch, threads=threads, options=f"mode={mode}")
        for name, base in (("ort-cpu", 10.0), ("torch-cpu", 30.0))
        for batch in (16, 2, 1)
        for threads in (1, 2)
        for mode in ("all", "off")
    ]
    card = _case("fpga:v80", 0.5, clock="simulated", threads=1)
    return [*grid, card, failed("ort-cuda", "m", "unavailable", "no GPU", batch_size=1, threads=1)]


def test_whatever_differs_can_be_a_side(cases: list[Series]) -> None:
    expected = ["model", VARIANT, "runtime", "threads", "batch_size", "option:mode"]
    assert list(sides(cases)) == expected
    assert list(sides([])) == ["model", VARIANT]


def test_a_place_has_the_best_of_its_cases_and_its_like_for_rivals(cases: list[Series]) -> None:
    """Numbers are in their order and simulated columns last."""
    table = pivot(cases, "batch_size", "runtime", P50, highest=False)
    assert table.rows == ("1", "2", "16")
    assert table.columns == ("ort-cpu", "torch-cpu", "ort-cuda", "fpga:v80")
    cell = _find_cell(table, "2", "ort-cpu")
    assert (cell.value, cell.count, cell.ratio) == (10.0, 4, 1.0)
    assert _find_cell(table, "2", "torch-cpu").ratio == pytest.approx(3.0)
    assert _find_cell(table, "1", "fpga:v80").ratio is None
    assert _find_cell(table, "1", "ort-cpu").ratio == 1.0
    missing = _find_cell(table, "1", "ort-cuda")
    assert (missing.value, missing.ratio, missing.case.status) == (None, None, "unavailable")
    highest = pivot(cases, "batch_size", "runtime", P50, highest=True)
    assert _find_cell(highest, "2", "ort-cpu").value == 20.0


def test_a_setting_that_a_case_has_not_is_a_column_of_its_own(cases: list[Series]) -> None:
    table = pivot(cases, "runtime", "option:mode", P50, highest=False)
    assert table.columns == ("all", "off", "none", "none")
    assert [cell.simulated for cell in table.cells if cell.column == 3] == [True]


def test_precisions_are_rivals_only_where_they_are_a_side() -> None:
    both = [_case("ort-cpu", us, precision=name) for name, us in (("fp32", 10.0), ("int8", 5.0))]
    both = [replace(b, case=replace(b.case, precision=b.row["precision"])) for b in both]
    by_variant = pivot(both, "model", VARIANT, P50, highest=False)
    assert [cell.ratio for cell in by_variant.cells] == [None, None]
    by_precision = pivot(both, "model", "precision", P50, highest=False)
    assert sorted(cell.ratio or 0.0 for cell in by_precision.cells) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("rival", "compared"),
    [
        ({}, True),
        ({"threads": 2}, False),
        ({"scenario": Scenario.parse("paced:5ms")}, False),
        ({"axes": {"batch": 4}}, False),
    ],
)
def test_only_what_does_the_same_work_is_a_rival(rival: dict[str, Any], compared: bool) -> None:
    """Cases at other rates, threads or sizes once shared the colour of the best of a row."""
    first, second = _case("ort-cpu", 10.0), _case("torch-cpu", 20.0)
    second = replace(second, case=replace(second.case, **rival))
    table = pivot([first, second], "model", VARIANT, P50, highest=False)
    ratios = sorted(cell.ratio or 0.0 for cell in table.cells)
    assert ratios == ([1.0, 2.0] if compared else [0.0, 0.0])


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
    rates = (400, 100, 200)
    cases = [
        *_make_paced("1ms", "20us", "100us"),
        *_make_paced("20us", "1ms", runtime="torch-cpu"),
        *(_make_series(f"{k}:{r}/s", 10.0, 20.0) for k in ("rate", "poisson") for r in rates),
        series(key="closed"),
    ]
    gap, *by_rate = curves(cases)
    assert (gap.quantity, gap.places()) == ("gap", [20.0, 100.0, 1000.0])
    assert gap.name == "ort-cpu", "two gaps of torch-cpu are no curve"
    assert [curve.name for curve in by_rate] == ["ort-cpu rate", "ort-cpu poisson"]
    assert {(c.quantity, *c.places()) for c in by_rate} == {("rate", 100.0, 200.0, 400.0)}


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


def test_a_sequence_axis_that_only_one_model_has_splits_no_column() -> None:
    cnn = series("ort-cpu", "cnn", key="a", count=20, sequence_length=None)
    lstm, long = (
        series("ort-cpu", "lstm", key=key, count=20, sequence_length=length)
        for key, length in (("b", 1), ("c", 16))
    )
    assert set(variants([cnn, lstm]).values()) == {"ort-cpu"}
    assert variants([cnn, lstm, long]) == {
        "a": "ort-cpu",
        "b": "ort-cpu sequence 1",
        "c": "ort-cpu sequence 16",
    }


def test_the_parts_of_a_run_that_waited_are_its_queue_and_its_service() -> None:
    rows = np.zeros(3, RECORD)
    rows["scheduled_ns"], rows["started_ns"], rows["finished_ns"] = 10, [10, 14, 18], [14, 18, 22]
    expected = {"queue": [0, 4, 8], "service": [4, 4, 4], "latency": [4, 8, 12]}
    parts = {part: part_ns(rows, part, True).tolist() for part in get_args(Part)}
    assert parts == expected
    assert part_ns(rows, "latency", False).tolist() == [4, 4, 4]
