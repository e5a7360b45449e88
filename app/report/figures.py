"""Figures of the cases of a run: latencies with their intervals, distributions, and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.scenario import CLOSED_LOOP
from app.comparison.measured_case import Measured
from app.formatting import text
from app.formatting.case_labels import labels
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series, Symbol, Unit
from app.run_folder.run import Run
from exporters.model_names import is_null

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999)
_SHARES = (*SHARES, 0.99999, 0.999999)
_LEAST_US = 1e-3
"""A clock's step: a logarithmic axis has no 0."""


@dataclass(slots=True)
class Shown:
    """One case that was timed. `color` and `dash` are numbers that tell it from the others of its
    model."""

    run: Run
    measured: Measured
    label: str
    color: int
    dash: int
    _pooled: np.ndarray | None = None

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
        """Whether the figure is simulated, or not to be ranked."""
        return self.simulated or not self.is_well

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
        if self._pooled is None:
            rounds = self.run.rounds_of(self.measured.case)
            parts = [self.run.samples_of(one).latency_ns for one in rounds if one.samples]
            self._pooled = np.sort(np.concatenate(parts)) / 1e3 if parts else np.empty(0)
        return self._pooled

    def percentiles_us(self) -> list[tuple[float, float]]:
        """(share of runs, latency) as far as there is a run beyond."""
        sorted_us = self.latency_us
        count = len(sorted_us)
        supported = [share for share in _SHARES if count * (1.0 - share) >= 1.0]
        ranks = [max(0, int(np.ceil(share * count)) - 1) for share in supported]
        return [(s, float(sorted_us[rank])) for s, rank in zip(supported, ranks, strict=True)]

    @property
    def fastest_and_slow_us(self) -> tuple[float, float] | None:
        """The fastest run and the p99.5; None without samples."""
        sorted_us = self.latency_us
        if not len(sorted_us):
            return None
        slow = sorted_us[max(0, int(np.ceil(0.995 * len(sorted_us))) - 1)]
        return max(float(sorted_us[0]), _LEAST_US), max(float(slow), _LEAST_US)

    def shares(self, edges_us: np.ndarray) -> np.ndarray:
        """The share of all runs between each two edges."""
        sorted_us = self.latency_us
        counts, _ = np.histogram(sorted_us, edges_us)
        return counts / max(1, len(sorted_us))

    @property
    def without_batch(self) -> Case:
        """The case but for its batch size: the same for all that differ in nothing else."""
        return without_batch(self.run, self.measured.case)

    @property
    def without_load(self) -> Case:
        """The same but for when its requests come."""
        return replace(self.measured.case, scenario=CLOSED_LOOP)

    def forget(self) -> None:
        """Let go of the samples."""
        self._pooled = None


def without_batch(run: Run, case: Case) -> Case:
    """The case but for its batch size."""
    model = run.model_of(case)
    axis = model.batch if model is not None and isinstance(model.batch, str) else "batch"
    return replace(case, axes={name: size for name, size in case.axes.items() if name != axis})


def shown(run: Run, measured: Sequence[Measured]) -> list[Shown]:
    """The cases that were timed, in the plan's order."""
    return list(_shown(run, [one for one in measured if one.summary is not None]))


def _shown(run: Run, timed: Sequence[Measured]) -> Iterator[Shown]:
    told = labels([one.case for one in timed])
    runtimes = list(dict.fromkeys(one.case.runtime for one in timed))
    seen: dict[tuple[str, str], int] = {}
    for one in timed:
        own = (one.case.model, one.case.runtime)
        number = seen[own] = seen.get(own, -1) + 1
        yield Shown(run, one, told[one.case.case_id], runtimes.index(one.case.runtime), number)


MOST_SERIES = 24
"""Lines in one figure that an eye can follow."""
_APART = " · "
_BINS = 120
"""Of a whole axis: finer ones would be narrower than a few pixels."""
_NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
_PERCENTILES: tuple[tuple[str, Symbol], ...] = (("p50", "circle"), ("p99", "diamond"))
_DODGE = 0.7
"""Marks of several series in one lane share this much of it, so that none hides another."""
HOLLOW = "Hollow: simulated, or not valid."


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
    series = []
    for place, one in enumerate(cases):
        for percentile, symbol in _PERCENTILES:
            column = f"latency_{percentile}"
            mark = interval_mark(one, place, f"{column}_us", f"{column}_ci", "us")
            if mark is not None:
                described = f"{one.name}, {percentile}: {mark.text}"
                series.append(
                    Series(
                        f"{one.name} {percentile}",
                        (replace(mark, text=described),),
                        color=one.color,
                        symbol=symbol,
                        cases=(one.case_id,),
                        has_legend=False,
                    )
                )
    return Figure(
        "Latency",
        Axis("latency", "us", "log"),
        names_axis(cases),
        tuple(series),
        note=f"Circle: p50. Diamond: p99. Line: 95 % interval. {HOLLOW}",
    )


def interval_mark(one: Drawn, place: int, column: str, ends: str, unit: Unit) -> Mark | None:
    """The value of a column in the lane of its case; None where it is empty."""
    value = one.figure(column)
    if value is None:
        return None
    low, high = (one.figure(f"{ends}_{end}_{unit}") for end in ("low", "high"))
    described = text.figure(value, unit)
    if low is None or high is None or text.is_too_noisy(low, high):
        low = high = None
    else:
        described += f" ({text.figure(low, unit)} to {text.figure(high, unit)})"
    return Mark(value, place, described, low, high, is_hollow=one.is_hollow)


def names_axis(cases: Iterable[Drawn]) -> Axis:
    """A lane for each case."""
    return Axis(names=tuple(one.name for one in cases))


def percentiles(cases: Sequence[Shown]) -> Figure:
    """Latency over the share of runs that are faster, out to the last that the samples support."""
    series = tuple(
        Series(
            one.name,
            tuple(
                Mark(
                    _rarity(share),
                    value,
                    f"{one.name}, p{100 * share:.6g}: {text.latency(value)}",
                )
                for share, value in one.percentiles_us()
            ),
            "line",
            one.color,
            one.dash,
            cases=(one.case_id,),
        )
        for one in cases[:MOST_SERIES]
    )
    ticks = tuple((_rarity(share), f"p{100 * share:.6g}") for share in _NINES)
    x = Axis("percentile", scale="log", ticks=ticks)
    return Figure("Percentiles", x, Axis("latency", "us", "log"), series, note=limit_note(cases))


def _rarity(share: float) -> float:
    """One run in so many is slower than the percentile of this share."""
    return 1.0 / (1.0 - share)


def histogram(cases: Sequence[Shown]) -> Figure:
    """How many of all runs took how long, up to the p99.5 of each case: the same bins for all,
    equally wide on the axis."""
    drawn = cases[:MOST_SERIES]
    spans = [span for one in drawn if (span := one.fastest_and_slow_us)]
    low = min((fastest for fastest, _ in spans), default=1.0)
    high = max((slow for _, slow in spans), default=1.0)
    edges = np.geomspace(low, max(high, low * 1.001), _BINS + 1)
    series = tuple(
        Series(one.name, _steps(one, edges), "steps", one.color, one.dash, cases=(one.case_id,))
        for one in drawn
        if one.fastest_and_slow_us
    )
    return Figure(
        "Histogram",
        Axis("latency, up to p99.5", "us", "log"),
        Axis("share of runs in a bin", "percent", least=0.0),
        series,
        note=limit_note(cases),
    )


def _steps(one: Shown, edges: np.ndarray) -> tuple[Mark, ...]:
    """From the first bin with runs to the end of the last."""
    shares = one.shares(edges)
    filled = np.flatnonzero(shares)
    if not len(filled):
        return ()
    first, last = int(filled[0]), int(filled[-1])
    heights = [0.0, *(100.0 * share for share in shares[first : last + 1]), 0.0]
    places = [edges[first], *edges[first : last + 2]]
    return tuple(Mark(float(x), float(y)) for x, y in zip(places, heights, strict=True))


def throughput(cases: Sequence[Shown]) -> Figure | None:
    """Inferences per second over the batch size; None where no case has two sizes."""
    groups: dict[str, list[Shown]] = {}
    for one in cases:
        groups.setdefault(one.without_batch.case_id, []).append(one)
    return _lines(
        "Throughput over batch size",
        groups,
        (Axis("batch size", "count", "log"), "batch_size"),
        (Axis("inferences per second", "per_s", "log"), "throughput_per_s"),
    )


def load(cases: Sequence[Shown]) -> Figure | None:
    """p99 over the rate of requests; None where no case has two rates."""
    groups: dict[str, list[Shown]] = {}
    for one in cases:
        kind = one.measured.case.scenario.kind
        groups.setdefault(f"{kind} {one.without_load.case_id}", []).append(one)
    return _lines(
        "Latency over request rate",
        groups,
        (Axis("requests per second", "per_s", "log"), "offered_rate_hz"),
        (Axis("latency, p99", "us", "log"), "latency_p99_us"),
    )


def _lines(
    title: str,
    groups: Mapping[str, Sequence[Shown]],
    along: tuple[Axis, str],
    value: tuple[Axis, str],
) -> Figure | None:
    """A line for each group that has two places along a column; None where none has."""
    (x, x_column), (y, y_column) = along, value
    found = []
    for group in groups.values():
        known = [
            (at, height, one)
            for one in group
            if (at := one.figure(x_column)) and (height := one.figure(y_column))
        ]
        if len({at for at, _, _ in known}) < 2:
            continue
        known.sort(key=lambda entry: entry[0])
        first = known[0][2]
        shared = set.intersection(*(set(one.name.split(_APART)) for _, _, one in known))
        found.append(
            Series(
                _APART.join(word for word in first.name.split(_APART) if word in shared),
                tuple(
                    Mark(
                        at,
                        height,
                        f"{one.name}: {text.figure(height, y.unit)}",
                        is_hollow=one.is_hollow,
                    )
                    for at, height, one in known
                ),
                "line",
                first.color,
                first.dash,
                cases=tuple(one.case_id for _, _, one in known),
            )
        )
    if not found:
        return None
    return Figure(title, x, y, tuple(found[:MOST_SERIES]), note=limit_note(found))


def ratios(cases: Sequence[Shown]) -> Figure | None:
    """How many times the best median of its model each runtime takes, among those on one clock and
    of one precision; None where fewer than two models or two runtimes can be compared."""
    best: dict[tuple[object, ...], float] = {}
    own = (one for one in cases if not is_null(one.measured.case.model))
    known = [one for one in own if one.is_well and _p50(one)]
    for one in known:
        key = _comparable(one)
        best[key] = min(best.get(key, _p50(one)), _p50(one))
    columns = sorted({_column(one) for one in known}, key=lambda name: ("simulated" in name, name))
    models = list(dict.fromkeys(str(one.row["model"]) for one in known))
    if len(models) < 2 or len(columns) < 2:
        return None
    fastest: dict[tuple[str, str], Shown] = {}
    for one in known:
        place = (_column(one), str(one.row["model"]))
        if place not in fastest or _p50(one) < _p50(fastest[place]):
            fastest[place] = one
    labels = {str(one.row["model"]): one.label.partition(_APART)[0] for one in known}
    series: list[Series] = []
    for number, column in enumerate(columns):
        chosen = {model: one for (of, model), one in fastest.items() if of == column}
        color = next(iter(chosen.values())).color
        aside = _DODGE * (number - (len(columns) - 1) / 2) / len(columns)
        marks = tuple(
            _ratio_mark(one, models.index(model) + aside, _p50(one) / best[_comparable(one)])
            for model, one in chosen.items()
        )
        again = any(other.color == color for other in series)
        series.append(
            Series(
                column,
                marks,
                color=color,
                symbol="diamond" if again else "circle",
                cases=tuple(one.case_id for one in chosen.values()),
            )
        )
    return Figure(
        "Slowdown against the fastest runtime of each model",
        Axis(
            "median over the best (same clock and precision)",
            "times",
            "log",
            least=1.0,
        ),
        Axis(names=tuple(labels[model] for model in models)),
        tuple(series),
        (ReferenceLine("x", 1.0),),
        note="Simulated cards are compared with simulated cards only.",
    )


def _ratio_mark(one: Shown, place: float, ratio: float) -> Mark:
    return Mark(ratio, place, f"{one.name}: {ratio:.2f} times the best", is_hollow=one.is_hollow)


def _comparable(one: Shown) -> tuple[object, ...]:
    return one.row["model"], one.row["clock"], one.row["precision"]


def _column(one: Shown) -> str:
    marks = [str(one.row["precision"] or "")] + (["simulated"] if one.simulated else [])
    marks += [f"on {one.measured.case.host}"] if one.measured.case.host else []
    return " ".join([str(one.row["runtime"]), *filter(None, marks)])


FIGURES: tuple[Callable[[Sequence[Shown]], Figure | None], ...] = (
    latency,
    percentiles,
    histogram,
    throughput,
    load,
)
"""Those of the cases of one model."""


def limit_note(found: Sequence[object]) -> str:
    """That only the first are drawn; "" where all are."""
    if len(found) <= MOST_SERIES:
        return ""
    return f"The first {MOST_SERIES} of {len(found)} are drawn; the window shows any."


def _p50(one: Shown) -> float:
    return one.figure("latency_p50_us") or 0.0
