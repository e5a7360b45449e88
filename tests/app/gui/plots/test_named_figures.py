"""One meaning for each figure: what any view draws, reads or exports under a name is the row's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.formatting.text import time_text
from app.gui.plots.base import PlotView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.marks import MarkLayer, percentiles
from app.gui.plots.parts import PartBins
from app.gui.plots.read.curves import PercentileReader
from app.gui.plots.read.reading import Place, SpotReader
from app.gui.tables.columns import COLUMNS
from app.gui.views import VIEWS
from app.plot_data.series import Series
from app.stats.quantiles import Histogram
from app.stats.summary import summarise
from runtimes.execution import Samples
from tests.app.gui.plots.views import on_screen
from tests.app.gui.synthetic import latencies_ns, open_loop, records, series, summary_of

LEVELS_US = (10.0, 20.0, 80.0)
"""Of three rounds: their typical median is far from the median of all samples."""
NAMES = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p999"}
_FIGURE = re.compile(r"(?<!pooled )\b(p50|p90|p99\.9|p99)[: ]+(~?[\d.,]+ (?:ns|µs|ms|s))")


def uneven(key: str = "a", runtime: str = "ort-cpu", factor: float = 1.0) -> Series:
    """A case whose rounds run at different speeds, with the row that it comes to."""
    round_records = [
        records(latencies_ns(level * factor, 4_000, place + 1))
        for place, level in enumerate(LEVELS_US)
    ]
    histogram = Histogram()
    for rows in round_records:
        histogram.add(rows["finished_ns"] - rows["started_ns"])
    summary = summarise(
        [
            Samples(r["scheduled_ns"], r["started_ns"], r["finished_ns"], "wall")
            for r in round_records
        ]
    )
    assert summary is not None
    row: dict[str, object] = {}
    for name in NAMES.values():
        interval = summary.interval_us(name)
        row[f"latency_{name}_us"] = summary.value_us(name)
        row[f"latency_{name}_ci_low_us"] = interval.low if interval else None
        row[f"latency_{name}_ci_high_us"] = interval.high if interval else None
    median = summary.value_us("p50")
    assert median is not None
    base = series(runtime, "mlp", key=key, count=10, rounds=3, batch_size=2 if key == "b" else 1)
    row |= {"throughput_per_s": 1e6 / median, "precision": "fp32", "valid": True}
    return replace(
        base,
        counts=histogram.counts,
        rounds=tuple(round_records),
        summary=summary,
        row={**base.row, **row},
    )


CASES = [uneven("a"), uneven("b", factor=2.0), uneven("c", "openvino-cpu", 1.5)]
SERIES_VIEWS = [spec for spec in VIEWS if spec.fed in ("shown", "all")]


def _drawn_texts(view: PlotView) -> Iterator[tuple[str, str]]:
    """(key, text) of marks and of all that is read at the marks of a case."""
    for layer in view._layers:
        if isinstance(layer, MarkLayer):
            yield from (("a", mark.text) for mark in layer._marks)
    for reader in view.crosshair._readers.values():
        if isinstance(reader, SpotReader):
            for spot in reader._spots:
                yield from ((spot.keys[0], line) for line in spot.lines if len(spot.keys) == 1)
        if isinstance(reader, PercentileReader):
            for curve in reader._curves:
                percentile_reader = PercentileReader([curve])
                for x, *_ in curve.known:
                    reading = percentile_reader.at(Place(x, curve.height(x), (0.01, 0.01)))
                    assert reading is not None
                    yield from ((curve.key, line.text) for line in reading.lines)


@pytest.mark.parametrize("spec", SERIES_VIEWS, ids=lambda spec: spec.key)
def test_every_figure_that_a_view_shows_under_a_name_is_the_rows(
    qtbot: QtBot, spec: object
) -> None:
    view = next(case_series for case_series in VIEWS if case_series is spec).make()
    cases = CASES[:1] if isinstance(view, HistogramView) else CASES
    on_screen(qtbot, view, cases)
    by_key = {case_series.key: case_series for case_series in cases}
    wrong = []
    for key, text in _drawn_texts(view):
        for name, figure_text in _FIGURE.findall(text):
            value = by_key[key].row[f"latency_{NAMES[name]}_us"]
            assert isinstance(value, float)
            texts = {time_text(value * 1e-6, digits) for digits in (3, 4)}
            if figure_text not in texts:
                wrong.append((key, name, figure_text, texts))
    assert not wrong
    header, rows = view.table()
    labels = {case_series.label: case_series for case_series in cases} if len(cases) == 1 else {}
    for place, column in enumerate(header):
        name = next((n for n in NAMES.values() if column in (f"{n}_us", f"latency_{n}_us")), "")
        for line in rows if name else ():
            case_series = labels.get(str(line[0]))
            own_cases = [case_series] if case_series else cases
            values = [case.row[f"latency_{name}_us"] for case in own_cases]
            assert line[place] is None or any(line[place] == pytest.approx(v) for v in values)


@pytest.mark.parametrize("name", NAMES.values())
def test_marks_and_table_have_one_figure_of_a_name(name: str) -> None:
    case = CASES[0]
    (column,) = (percentile for percentile in COLUMNS if percentile.key == f"latency_{name}_us")
    (mark,) = (percentile for percentile in percentiles(case) if NAMES[percentile.name] == name)
    assert column.raw(case) == pytest.approx(mark.seconds * 1e6)
    bare = replace(case, row={})
    assert column.raw(bare) == summary_of(case).value_us(name), "a row that has yet to come"


def test_the_figures_of_all_samples_pooled_are_called_so() -> None:
    measuring = series(finished=False, count=20_000)
    assert {percentile.label.split(" ")[0] for percentile in percentiles(measuring)} == {"pooled"}
    assert not any(percentile.provisional for percentile in percentiles(CASES[0]))


def test_another_part_of_the_time_has_no_figure_of_the_latency() -> None:
    """Queueing is no latency: its marks are of its own samples."""
    queued_series = open_loop(40_000)
    (queue,) = PartBins().of([queued_series], "queue")
    assert all(percentile.label.startswith("pooled ") for percentile in percentiles(queue))
