"""Figures of the cases of a run: latencies with their intervals, distributions, and curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

import numpy as np

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.insights.quality import row_quality
from app.cases.column import Row, number_of
from app.cases.scenario import CLOSED_LOOP
from app.formatting import text
from app.formatting.case_labels import labels
from app.present.figure import (
    Axis,
    Figure,
    Kind,
    Mark,
    ReferenceLine,
    Series,
    Symbol,
    Unit,
    with_interval,
)
from app.run_folder.run import Run
from exporters.model_names import is_null

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999)
_SHARES = (*SHARES, 0.99999, 0.999999)
_MINIMUM_US = 1e-3
"""A clock's step: a logarithmic axis has no 0."""


@dataclass(slots=True)
class TimedCase:
    """One case that was timed. `color` and `dash` are numbers that tell it from the others of its
    model."""

    run: Run
    measured: MeasuredCase
    label: str
    color: int
    dash: int
    _pooled_us: np.ndarray | None = None

    @property
    def row(self) -> Row:
        return self.measured.row

    @property
    def case_id(self) -> str:
        return self.measured.case.case_id

    @property
    def simulated(self) -> bool:
        return self.row["clock"] == "simulated"

    @property
    def is_well(self) -> bool:
        return self.measured.is_well

    @property
    def is_hollow(self) -> bool:
        damage = self.run.damaged.get(self.case_id)
        quality = row_quality(self.row, str(self.row["status"]), bool(damage))
        return self.simulated or quality != "sound"

    @property
    def name(self) -> str:
        """The label with what must not be overlooked."""
        marks = [str(self.row["status"]).replace("_", " ")] if self.row["status"] != "ok" else []
        marks += ["not valid"] if self.row["valid"] is False else []
        marks += ["simulated"] if self.simulated else []
        return f"{self.label} ({', '.join(marks)})" if marks else self.label

    def figure(self, name: str) -> float | None:
        """A number of the row."""
        return number_of(self.row.get(name))

    @property
    def latency_us(self) -> np.ndarray:
        """Of all rounds together, ascending [n]."""
        if self._pooled_us is None:
            rounds = self.run.rounds_of(self.measured.case)
            parts = [self.run.samples_of(result).latency_ns for result in rounds if result.samples]
            self._pooled_us = np.sort(np.concatenate(parts)) / 1e3 if parts else np.empty(0)
        return self._pooled_us

    def percentiles_us(self) -> list[tuple[float, float]]:
        """(share of runs, latency) as far as there is a run beyond."""
        sorted_us = self.latency_us
        count = len(sorted_us)
        shares = [share for share in _SHARES if count * (1.0 - share) >= 1.0]
        ranks = [max(0, int(np.ceil(share * count)) - 1) for share in shares]
        return [(s, float(sorted_us[rank])) for s, rank in zip(shares, ranks, strict=True)]

    @property
    def fastest_and_slow_us(self) -> tuple[float, float] | None:
        """The fastest run and the p99.5; None without samples."""
        sorted_us = self.latency_us
        if not len(sorted_us):
            return None
        slow = sorted_us[max(0, int(np.ceil(0.995 * len(sorted_us))) - 1)]
        return max(float(sorted_us[0]), _MINIMUM_US), max(float(slow), _MINIMUM_US)

    def forget(self) -> None:
        """Let go of the samples."""
        self._pooled_us = None


def timed_cases(run: Run, measurements: Sequence[MeasuredCase]) -> list[TimedCase]:
    """The cases that were timed, in the plan's order."""
    timed = [measurement for measurement in measurements if measurement.summary is not None]
    case_labels = labels([measurement.case for measurement in timed])
    runtimes = list(dict.fromkeys(measurement.case.runtime for measurement in timed))
    counts = Counter[tuple[str, str]]()
    cases = []
    for measurement in timed:
        case = measurement.case
        color, key = runtimes.index(case.runtime), (case.model, case.runtime)
        cases.append(TimedCase(run, measurement, case_labels[case.case_id], color, counts[key]))
        counts[key] += 1
    return cases


MAXIMUM_SERIES = 24
"""Lines in one figure that an eye can follow."""
_SEPARATOR = " · "
_BINS = 120
"""Of a whole axis: finer ones would be narrower than a few pixels."""
_NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
_SYMBOLS: tuple[Symbol, ...] = ("circle", "diamond")
_DODGE = 0.7
"""Marks of several series in one lane share this much of it, so that none hides another."""
HOLLOW = "Hollow: simulated, or doubted: its row has warnings."


def hollow_note(cases: Iterable[Drawn]) -> list[str]:
    """What hollow marks mean, where there are some."""
    return [HOLLOW] * any(case.is_hollow for case in cases)


class Drawn(Protocol):
    """A case whose figures are drawn, however they were read."""

    @property
    def name(self) -> str: ...

    @property
    def case_id(self) -> str: ...

    @property
    def color(self) -> int: ...

    @property
    def is_hollow(self) -> bool: ...

    def figure(self, name: str) -> float | None:
        """A number of the case's row."""


def latency(cases: Sequence[Drawn]) -> Figure:
    """p50 and p99 of each case with their 95 % intervals, in the order of the cases.

    An interval that is too noisy to be shown is left out.
    """
    columns = {"latency_p50_us": "p50", "latency_p99_us": "p99"}
    note = f"Circle: p50. Diamond: p99. Line: 95 % interval. {HOLLOW}"
    return interval_figure("Latency", Axis("latency", "us", "log"), cases, columns, note)


def interval_figure(
    title: str, x: Axis, cases: Sequence[Drawn], columns: Mapping[str, str], note: str = ""
) -> Figure:
    """A lane for each case with the values of columns that have intervals, each by its label."""
    series = []
    for place, case in enumerate(cases):
        for (column, label), symbol in zip(columns.items(), _SYMBOLS, strict=False):
            value, ends = case.figure(column), column.removesuffix(f"_{x.unit}")
            if value is None:
                continue
            low, high = (case.figure(f"{ends}_ci_{end}_{x.unit}") for end in ("low", "high"))
            words, low, high = with_interval(value, low, high, x.unit)
            described = f"{case.name}, {label}: {words}" if label else f"{case.name}: {words}"
            mark = Mark(value, place, described, low, high, is_hollow=case.is_hollow)
            one = series_of(case, (mark,), has_legend=False)
            series.append(replace(one, name=f"{case.name} {label}", symbol=symbol))
    return Figure(title, x, names_axis(cases), tuple(series), note=note)


def series_of(
    case: Drawn, marks: Iterable[Mark], kind: Kind = "points", *, has_legend: bool = True
) -> Series:
    """Marks of one case, in its colour."""
    ids, color = (case.case_id,), case.color
    return Series(case.name, tuple(marks), kind, color, cases=ids, has_legend=has_legend)


def names_axis(cases: Iterable[Drawn]) -> Axis:
    """A lane for each case."""
    return Axis(names=tuple(case.name for case in cases))


def percentiles(cases: Sequence[TimedCase]) -> Figure:
    """Latency over the share of runs that are faster, out to the last that the samples support."""
    series = tuple(
        replace(series_of(case, _percentile_marks(case), "line"), dash=case.dash)
        for case in cases[:MAXIMUM_SERIES]
    )
    ticks = tuple((_rarity(share), f"p{100 * share:.6g}") for share in _NINES)
    x = Axis("percentile", scale="log", ticks=ticks)
    return Figure("Percentiles", x, Axis("latency", "us", "log"), series, note=limit_note(cases))


def _percentile_marks(case: TimedCase) -> Iterator[Mark]:
    for share, value in case.percentiles_us():
        words = f"{case.name}, p{100 * share:.6g}: {text.latency(value)}"
        yield Mark(_rarity(share), value, words)


def _rarity(share: float) -> float:
    """One run in so many is slower than the percentile of this share."""
    return 1.0 / (1.0 - share)


def histogram(cases: Sequence[TimedCase]) -> Figure:
    """How many of all runs took how long, up to the p99.5 of each case: the same bins for all,
    equally wide on the axis."""
    visible = cases[:MAXIMUM_SERIES]
    spans = [span for case in visible if (span := case.fastest_and_slow_us)]
    low = min((fastest for fastest, _ in spans), default=1.0)
    high = max((slow for _, slow in spans), default=1.0)
    edges = np.geomspace(low, max(high, low * 1.001), _BINS + 1)
    series = tuple(
        replace(series_of(case, _steps(case, edges), "steps"), dash=case.dash)
        for case in visible
        if case.fastest_and_slow_us
    )
    return Figure(
        "Histogram",
        Axis("latency, up to p99.5", "us", "log"),
        Axis("share of runs in a bin", "percent", least=0.0),
        series,
        note=limit_note(cases),
    )


def _steps(case: TimedCase, edges: np.ndarray) -> tuple[Mark, ...]:
    """From the first bin with runs to the end of the last."""
    sorted_us = case.latency_us
    shares = np.histogram(sorted_us, edges)[0] / max(1, len(sorted_us))
    filled_bins = np.flatnonzero(shares)
    if not len(filled_bins):
        return ()
    first, last = int(filled_bins[0]), int(filled_bins[-1])
    heights = [0.0, *(100.0 * share for share in shares[first : last + 1]), 0.0]
    places = [edges[first], *edges[first : last + 2]]
    return tuple(Mark(float(x), float(y)) for x, y in zip(places, heights, strict=True))


def throughput(cases: Sequence[TimedCase]) -> Figure | None:
    """Inferences per second over the batch size; None where no case has two sizes."""
    groups: dict[str, list[TimedCase]] = {}
    for case in cases:
        groups.setdefault(case.run.without_batch(case.measured.case).case_id, []).append(case)
    return _lines(
        "Throughput over batch size",
        groups,
        (Axis("batch size", "count", "log"), "batch_size"),
        (Axis("inferences per second", "per_s", "log"), "throughput_per_s"),
    )


def load(cases: Sequence[TimedCase]) -> Figure | None:
    """p99 over the rate of requests; None where no case has two rates."""
    groups: dict[str, list[TimedCase]] = {}
    for case in cases:
        kind = case.measured.case.scenario.kind
        without_load = replace(case.measured.case, scenario=CLOSED_LOOP)
        groups.setdefault(f"{kind} {without_load.case_id}", []).append(case)
    return _lines(
        "Latency over request rate",
        groups,
        (Axis("requests per second", "per_s", "log"), "offered_rate_hz"),
        (Axis("latency, p99", "us", "log"), "latency_p99_us"),
    )


def _lines(
    title: str,
    groups: Mapping[str, Sequence[TimedCase]],
    x_axis: tuple[Axis, str],
    value: tuple[Axis, str],
) -> Figure | None:
    """A line for each group that has two places along a column; None where none has."""
    (x, x_column), (y, y_column) = x_axis, value
    lines = []
    for group in groups.values():
        entries = [
            (x_value, height, case)
            for case in group
            if (x_value := case.figure(x_column)) and (height := case.figure(y_column))
        ]
        if len({x_value for x_value, _, _ in entries}) < 2:
            continue
        entries.sort(key=lambda entry: entry[0])
        first = entries[0][2]
        shared = set.intersection(*(set(case.name.split(_SEPARATOR)) for _, _, case in entries))
        name = _SEPARATOR.join(word for word in first.name.split(_SEPARATOR) if word in shared)
        ids = tuple(case.case_id for _, _, case in entries)
        marks = [_line_mark(x_value, height, y.unit, case) for x_value, height, case in entries]
        lines.append(Series(name, tuple(marks), "line", first.color, first.dash, cases=ids))
    if not lines:
        return None
    every = chain.from_iterable(groups.values())
    notes = filter(None, (limit_note(lines), *hollow_note(every)))
    return Figure(title, x, y, tuple(lines[:MAXIMUM_SERIES]), note=" ".join(notes))


def _line_mark(x: float, y: float, unit: Unit, case: TimedCase) -> Mark:
    return Mark(x, y, f"{case.name}: {text.figure(y, unit)}", is_hollow=case.is_hollow)


def ratios(cases: Sequence[TimedCase]) -> Figure | None:
    """How many times the best median of its model each runtime takes, among those on one clock and
    of one precision; None where fewer than two models or two runtimes can be compared."""
    best: dict[tuple[object, ...], float] = {}
    model_cases = (case for case in cases if not is_null(case.measured.case.model))
    comparable = [case for case in model_cases if case.is_well and _p50(case)]
    for case in comparable:
        key = _comparable(case)
        best[key] = min(best.get(key, _p50(case)), _p50(case))
    columns = sorted(
        {_column(case) for case in comparable}, key=lambda name: ("simulated" in name, name)
    )
    models = list(dict.fromkeys(str(case.row["model"]) for case in comparable))
    if len(models) < 2 or len(columns) < 2:
        return None
    fastest: dict[tuple[str, str], TimedCase] = {}
    for case in comparable:
        place = (_column(case), str(case.row["model"]))
        if place not in fastest or _p50(case) < _p50(fastest[place]):
            fastest[place] = case
    labels = {str(case.row["model"]): case.label.partition(_SEPARATOR)[0] for case in comparable}
    series: list[Series] = []
    for number, column in enumerate(columns):
        fastest_by_model = {
            model: case for (runtime, model), case in fastest.items() if runtime == column
        }
        color = next(iter(fastest_by_model.values())).color
        offset = _DODGE * (number - (len(columns) - 1) / 2) / len(columns)
        marks = tuple(
            _ratio_mark(case, models.index(model) + offset, _p50(case) / best[_comparable(case)])
            for model, case in fastest_by_model.items()
        )
        is_repeated = any(drawn_series.color == color for drawn_series in series)
        series.append(
            Series(
                column,
                marks,
                color=color,
                symbol="diamond" if is_repeated else "circle",
                cases=tuple(case.case_id for case in fastest_by_model.values()),
            )
        )
    is_simulated = any(case.simulated for case in comparable)
    simulated_note = ["Simulated cards are compared with simulated cards only."] * is_simulated
    return Figure(
        "Slowdown against the fastest runtime of each model",
        Axis("median over the best (same clock and precision)", "times", "log", least=1.0),
        Axis(names=tuple(labels[model] for model in models)),
        tuple(series),
        (ReferenceLine("x", 1.0),),
        note=" ".join((*simulated_note, *hollow_note(comparable))),
    )


def _ratio_mark(case: TimedCase, place: float, ratio: float) -> Mark:
    return Mark(ratio, place, f"{case.name}: {ratio:.2f} times the best", is_hollow=case.is_hollow)


def _comparable(case: TimedCase) -> tuple[object, ...]:
    return case.row["model"], case.row["clock"], case.row["precision"]


def _column(case: TimedCase) -> str:
    marks = [str(case.row["precision"] or "")] + (["simulated"] if case.simulated else [])
    marks += [f"on {case.measured.case.host}"] if case.measured.case.host else []
    return " ".join([str(case.row["runtime"]), *filter(None, marks)])


FIGURES: tuple[Callable[[Sequence[TimedCase]], Figure | None], ...] = (
    latency,
    percentiles,
    histogram,
    throughput,
    load,
)
"""Those of the cases of one model."""


def limit_note(items: Sequence[object]) -> str:
    """That only the first are drawn; "" where all are."""
    if len(items) <= MAXIMUM_SERIES:
        return ""
    return f"The first {MAXIMUM_SERIES} of {len(items)} are drawn; the window shows any."


def _p50(case: TimedCase) -> float:
    return case.figure("latency_p50_us") or 0.0
