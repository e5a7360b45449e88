"""Figures of a run, as plotly's: each takes cases and gives a figure with one trace for each.

A trace's `meta` is the id of its case, by which a page shows and hides it. What is simulated or
did not end well is hollow and says so in its name, and is never told without that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log10
from typing import TYPE_CHECKING

from app.present.html import safe
from app.report.shown import NAMED, NAMES, Shown
from app.results.text import is_too_noisy

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_TIME = "latency (µs)"
_APART = " · "
_NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


def latency(cases: Sequence[Shown]) -> Figure:
    """p50 and p99 of each case with their 95 % intervals, in the order of the cases.

    An interval that is too noisy to be shown has no bar.
    """
    from plotly import graph_objects as go

    figure = go.Figure()
    for one in cases:
        for percentile, symbol in (("p50", "circle"), ("p99", "diamond")):
            value = one.figure(f"latency_{percentile}_us")
            if value is None:
                continue
            low = one.figure(f"latency_{percentile}_ci_low_us")
            high = one.figure(f"latency_{percentile}_ci_high_us")
            if low is not None and high is not None and is_too_noisy(low, high):
                low = high = None
            figure.add_scatter(
                x=[value],
                y=[one.name],
                mode="markers",
                name=f"{one.name} {percentile}",
                meta=one.case_id,
                marker={"color": one.color, "size": 10, "symbol": one.symbol(symbol)},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [high - value if high is not None else 0.0],
                    "arrayminus": [value - low if low is not None else 0.0],
                },
                hovertemplate=f"{percentile} %{{x:.4g}} µs<extra>%{{y}}</extra>",
                showlegend=False,
            )
    figure.update_xaxes(type="log", title=f"{_TIME}: circle p50, diamond p99, bars 95 %")
    figure.update_yaxes(**NAMES)
    figure.update_layout(height=120 + 26 * len(cases))
    return figure


def percentiles(cases: Sequence[Shown]) -> Figure:
    """Latency over the share of runs that are faster, out to the last that the samples support."""
    from plotly import graph_objects as go

    figure = go.Figure()
    for one in cases:
        points = one.percentiles_us()
        figure.add_scatter(
            x=[round(1.0 / (1.0 - share), 4) for share, _ in points],
            y=[_rounded(value) for _, value in points],
            text=[f"p{100 * share:.6g}" for share, _ in points],
            mode="lines+markers",
            name=one.name,
            meta=one.case_id,
            line={"color": one.color, "dash": one.dash},
            marker={"size": 4, "symbol": one.symbol("circle")},
            hovertemplate=f"%{{text}}: %{{y:.4g}} µs{NAMED}",
        )
    ticks = [1.0 / (1.0 - share) for share in _NINES]
    text = [f"{100 * share:.6g} %" for share in _NINES]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=text, title="share of runs")
    figure.update_yaxes(type="log", title=_TIME)
    return figure


def histogram(cases: Sequence[Shown]) -> Figure:
    """How many of all runs took how long, up to the p99.5 of each case."""
    from plotly import graph_objects as go

    figure = go.Figure()
    for one in cases:
        edges, shares = one.histogram()
        figure.add_scatter(
            x=[_rounded(edge) for edge in edges],
            y=[_rounded(100.0 * share) for share in (*shares, 0.0)][: len(edges)],
            mode="lines",
            name=one.name,
            meta=one.case_id,
            line={"color": one.color, "dash": one.dash, "shape": "hv", "width": 1.5},
            hovertemplate=f"from %{{x:.4g}} µs: %{{y:.2f}} % of the runs{NAMED}",
        )
    figure.update_xaxes(type="log", title=f"{_TIME}, up to the p99.5")
    figure.update_yaxes(title="runs in a bin (%)", rangemode="tozero")
    return figure


def throughput(cases: Sequence[Shown]) -> Figure | None:
    """Inferences a second over the batch size; None where no case has two sizes."""
    groups: dict[str, list[Shown]] = {}
    for one in cases:
        groups.setdefault(one.without_batch.case_id, []).append(one)
    figure = _lines(groups, "batch_size", "throughput_per_s")
    if figure is not None:
        figure.update_xaxes(title="batch")
        figure.update_yaxes(title="inferences a second")
    return figure


def load(cases: Sequence[Shown]) -> Figure | None:
    """p99 over the rate of requests; None where no case has two rates."""
    groups: dict[str, list[Shown]] = {}
    for one in cases:
        kind = one.measured.case.scenario.kind
        groups.setdefault(f"{kind} {one.without_load.case_id}", []).append(one)
    figure = _lines(groups, "offered_rate_hz", "latency_p99_us")
    if figure is not None:
        figure.update_xaxes(title="requests a second")
        figure.update_yaxes(title=f"p99 {_TIME}")
    return figure


def _lines(groups: Mapping[str, Sequence[Shown]], along: str, value: str) -> Figure | None:
    """A line for each group that has two places `along` a column; None where none has."""
    from plotly import graph_objects as go

    figure = go.Figure()
    for group in groups.values():
        told = [one for one in group if one.figure(along) and one.figure(value)]
        if len({one.figure(along) for one in told}) < 2:
            continue
        ordered = sorted(told, key=lambda one: one.figure(along) or 0.0)
        first = ordered[0]
        shared = set.intersection(*(set(one.name.split(_APART)) for one in ordered))
        figure.add_scatter(
            x=[one.figure(along) for one in ordered],
            y=[one.figure(value) for one in ordered],
            mode="lines+markers",
            name=_APART.join(word for word in first.name.split(_APART) if word in shared),
            meta=" ".join(one.case_id for one in ordered),
            line={"color": first.color, "dash": first.dash},
            marker={"symbol": [one.symbol("circle") for one in ordered], "size": 8},
        )
    if not figure.data:
        return None
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return figure


def heatmap(cases: Sequence[Shown]) -> Figure | None:
    """How many times the best median of its model each runtime takes, among those on one clock
    and of one precision; None where nothing can be set side by side."""
    from plotly import graph_objects as go

    cells: dict[tuple[str, str], Shown] = {}
    for one in cases:
        value = one.figure("latency_p50_us")
        column = _column(one)
        key = (str(one.row["model"]), column)
        if one.is_well and value and (key not in cells or value < _p50(cells[key])):
            cells[key] = one
    columns = sorted({column for _, column in cells}, key=lambda name: ("simulated" in name, name))
    models = list(dict.fromkeys(model for model, _ in cells))
    if len(models) < 2 or len(columns) < 2:
        return None
    best: dict[tuple[str, object, object], float] = {}
    for (model, _), one in cells.items():
        group = (model, one.row["clock"], one.row["precision"])
        best[group] = min(best.get(group, _p50(one)), _p50(one))

    def times(model: str, column: str) -> float | None:
        one = cells.get((model, column))
        if one is None:
            return None
        return _p50(one) / best[model, one.row["clock"], one.row["precision"]]

    ratios = [[times(model, column) for column in columns] for model in models]
    figure = go.Figure(
        go.Heatmap(
            z=[[None if r is None else log10(r) for r in line] for line in ratios],
            x=[safe(name) for name in columns],
            y=[_model(cells, model) for model in models],
            text=[["" if r is None else f"{r:.2f} x" for r in line] for line in ratios],
            texttemplate="%{text}",
            colorscale="Cividis",
            reversescale=True,
            showscale=False,
            hovertemplate="%{y}, %{x}: %{text} the best on its clock<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(**NAMES)
    figure.update_layout(height=140 + 26 * len(models))
    return figure


FIGURES: dict[str, Callable[[Sequence[Shown]], Figure | None]] = {
    "Latency": latency,
    "Percentiles": percentiles,
    "Histogram": histogram,
    "Throughput over batch": throughput,
    "Latency over rate": load,
}
"""By their headings, those of the cases of one model."""


def _rounded(value: float) -> float:
    """Four digits: what an eye can tell apart."""
    return float(f"{value:.4g}")


def _p50(one: Shown) -> float:
    return one.figure("latency_p50_us") or 0.0


def _column(one: Shown) -> str:
    marks = [str(one.row["precision"] or "")] + (["simulated"] if one.simulated else [])
    marks += [f"on {safe(one.measured.case.host)}"] if one.measured.case.host else []
    return f"{one.row['runtime']} {' '.join(filter(None, marks))}"


def _model(cells: dict[tuple[str, str], Shown], model: str) -> str:
    return next(one for (name, _), one in cells.items() if name == model).label.split(" · ")[0]
