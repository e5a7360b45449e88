"""How latency grows with idleness: a curve for each runtime, of rows that differ in their gap."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from app.cases.column import Row
from app.cases.columns import NAMES
from app.console.scenario_tables import gap_figures, gap_tables
from app.plot_data.curves import GapPoint, idleness
from app.present.svg import svg_document
from app.present.terminal import as_text

SVG = "{http://www.w3.org/2000/svg}"


def row(gap_us: float | None, p50_us: float, runtime: str = "fake") -> Row:
    values: Row = dict.fromkeys(NAMES)
    scenario = "closed_loop" if gap_us is None else "paced"
    policy = None if gap_us is None else "spin"
    figures: Row = {
        "model": "mlp",
        "scenario": scenario,
        "gap_us": gap_us,
        "wait_policy": policy,
        "runtime": runtime,
        "latency_p50_us": p50_us,
        "latency_p99_us": None if p50_us > 100 else 2 * p50_us,
    }
    return values | figures


ROWS = [
    *(row(gap, p50) for gap, p50 in ((1000.0, 40.0), (None, 10.0), (20.0, 12.0), (5000.0, 200.0))),
    *(row(gap, 2 * gap, "ort-cpu") for gap in (20.0, 1000.0)),
]


def test_rows_that_differ_in_their_gap_alone_are_a_curve() -> None:
    (idle,) = idleness(ROWS)
    assert (idle.label, idle.gaps_us) == ("mlp", (0.0, 20.0, 1000.0, 5000.0))
    fake, ort = idle.curves
    assert (fake.label, ort.label) == ("fake", "ort-cpu")
    assert fake.points == (
        GapPoint(0.0, 10.0, 20.0),
        GapPoint(20.0, 12.0, 24.0),
        GapPoint(1000.0, 40.0, 80.0),
        GapPoint(5000.0, 200.0, None),
    )


def test_models_and_sizes_have_curves_of_their_own() -> None:
    larger = [gap_row | {"axes": "batch=8"} for gap_row in ROWS]
    assert [idle.label for idle in idleness([*ROWS, *larger])] == ["mlp", "mlp · batch 8"]


@pytest.mark.parametrize("rows", [[], ROWS[1:3], [row(20.0, 1.0), row(50.0, 1.0), row(None, 1.0)]])
def test_two_gaps_are_no_curve(rows: list[Row]) -> None:
    assert idleness(rows) == []


def test_the_table_has_a_line_for_each_gap_and_none_for_what_was_not_measured() -> None:
    text = as_text(gap_tables(idleness(ROWS)), 100)
    lines = [line.split() for line in text.splitlines()[4:] if line.strip()]
    assert lines == [
        ["none", "10.0", "µs", "20.0", "µs", "-", "-"],
        ["20.0", "µs", "12.0", "µs", "24.0", "µs", "40.0", "µs", "80.0", "µs"],
        ["1.00", "ms", "40.0", "µs", "80.0", "µs", "2.00", "ms", "-"],
        ["5.00", "ms", "200", "µs", "-", "-", "-"],
    ]


def test_the_picture_has_a_line_for_each_percentile_and_a_title_for_each_point() -> None:
    picture = ElementTree.fromstring(svg_document(gap_figures(idleness(ROWS))))
    lines = [line.attrib["points"].split() for line in picture.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [3, 2, 2, 1]
    titles = [title.text for title in picture.iter(f"{SVG}title")]
    assert "fake, p50 after 5.00 ms: 200 µs" in titles
    places = [tuple(map(float, point.split(","))) for point in lines[0]]
    xs, ys = zip(*places, strict=True)
    assert list(xs) == sorted(xs), "a longer pause is farther right"
    assert list(ys) == sorted(ys, reverse=True), "what takes longer is higher up"
