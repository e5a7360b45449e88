"""Where a run spends its time: the slowest operators, and how near the machine's peak they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.cases.operators import Operator, OperatorTimes, Peak
from app.present.html import safe
from app.report.shown import NAMES, Shown
from app.results import text
from app.results.follow.details import case_operators

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_OPS = 15
_MOST_NODES = 4
_ROW_PX, _FRAME_PX = 26, 120


def of_operators(cases: Sequence[Shown]) -> Iterator[tuple[str, Figure]]:
    """A heading, escaped, and a figure, for each case that has operator times, for its roofline."""
    for one in cases:
        times = case_operators(one.run, one.measured.case)
        if times is None or not times.ops:
            continue
        clock = text.CLOCK_TEXT[times.clock]
        yield f"Operators of {one.label}, {clock}", slowest(one, times)
        drawn = roofline(one, times)
        if drawn is not None:
            yield f"Roofline of {one.label}: {safe(times.peak.how if times.peak else '')}", drawn


def slowest(one: Shown, times: OperatorTimes) -> Figure:
    """A bar for each of the slowest operators, with its share of all."""
    from plotly import graph_objects as go

    ops = sorted(times.ops, key=lambda op: -op.time_us)[:MOST_OPS]
    figure = go.Figure(
        go.Bar(
            x=[op.time_us for op in ops],
            y=[f"{place}. {safe(op.op)}" for place, op in enumerate(ops, 1)],
            text=[_share(op, times.total_us) for op in ops],
            customdata=[_nodes(op) for op in ops],
            orientation="h",
            marker={"color": one.color},
            meta=one.case_id,
            hovertemplate="%{x:.4g} µs, %{text}<br>%{customdata}<extra></extra>",
            showlegend=False,
        )
    )
    of = f"{len(ops)} of {len(times.ops)} operators"
    figure.update_xaxes(title=f"time of one run (µs); {of}, median of {times.runs} runs")
    figure.update_yaxes(**NAMES)
    figure.update_layout(height=_FRAME_PX + _ROW_PX * len(ops))
    return figure


def roofline(one: Shown, times: OperatorTimes) -> Figure | None:
    """FLOP/s of each operator over the FLOP that it does with a byte, below the machine's peaks;
    None where nobody measured them or no operator's work is known."""
    from plotly import graph_objects as go

    known = [op for op in times.ops if op.macs and op.bytes_moved and op.time_us]
    if (
        times.peak is None
        or times.peak.flops_per_s <= 0
        or times.peak.bytes_per_s <= 0
        or not known
    ):
        return None
    figure = go.Figure()
    over = [2 * (op.macs or 0) / (op.bytes_moved or 1) for op in known]
    figure.add_scatter(
        x=over,
        y=[2e6 * (op.macs or 0) / op.time_us for op in known],
        mode="markers",
        name=one.name,
        meta=one.case_id,
        marker={"color": one.color, "size": 9, "symbol": one.symbol("circle")},
        customdata=[f"{safe(op.op)} {_nodes(op)}" for op in known],
        hovertemplate="%{customdata}<br>%{y:.3s}FLOP/s at %{x:.3g} FLOP a byte<extra></extra>",
    )
    _add_roof(figure, times.peak, min(over), max(over))
    figure.update_xaxes(type="log", title="FLOP for each byte that is moved")
    figure.update_yaxes(type="log", title="FLOP/s")
    return figure


def _add_roof(figure: Figure, peak: Peak, least: float, most: float) -> None:
    """Memory bounds the left of it, arithmetic the right."""
    ridge = peak.flops_per_s / peak.bytes_per_s
    places = sorted({min(least, ridge) / 2, ridge, max(most, ridge) * 2})
    figure.add_scatter(
        x=places,
        y=[min(peak.flops_per_s, peak.bytes_per_s * place) for place in places],
        mode="lines",
        name="the machine's peak",
        line={"color": "#666666", "dash": "dash"},
        hovertemplate="%{y:.3s}FLOP/s<extra>peak</extra>",
    )


def _share(op: Operator, total_us: float) -> str:
    share = f"{op.time_us / total_us:.1%}" if total_us else ""
    return share if op.peak_share is None else f"{share}, {op.peak_share:.0%} of peak"


def _nodes(op: Operator) -> str:
    """The first of the file's nodes that it holds, or its own name."""
    held = ", ".join(op.holds[:_MOST_NODES])
    more = f" and {len(op.holds) - _MOST_NODES} more" if len(op.holds) > _MOST_NODES else ""
    return safe(f"{held}{more}" or op.node)
