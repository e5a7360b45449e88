"""How full the simulated cards are, and what of the latency is the link's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.report.shown import NAMES, Shown

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW_PX, _FRAME_PX = 26, 140


def fit(cases: Sequence[Shown]) -> Figure | None:
    """The share of a card's weight tiles that each case takes; None where nothing ran on one."""
    from plotly import graph_objects as go

    known = [one for one in cases if one.figure("weight_tiles_total")]
    if not known:
        return None
    figure = go.Figure()
    for one in known:
        used, total = (one.figure(f"weight_tiles_{word}") or 0.0 for word in ("used", "total"))
        figure.add_bar(
            x=[100.0 * used / total],
            y=[one.name],
            text=[f"{used:.0f} of {total:.0f} tiles{_costs(one)}"],
            orientation="h",
            name=one.name,
            meta=one.case_id,
            marker={"color": "rgba(0,0,0,0)", "line": {"color": one.color, "width": 1.5}},
            hovertemplate="%{text}<extra>%{y}</extra>",
            showlegend=False,
        )
    figure.update_xaxes(title="weight tiles of the card (%), simulated", rangemode="tozero")
    figure.update_yaxes(**NAMES)
    figure.update_layout(height=_FRAME_PX + _ROW_PX * len(known))
    return figure


def _costs(one: Shown) -> str:
    cycles, link_us = one.figure("cycles"), one.figure("io_us")
    told = [f"{cycles:,.0f} cycles"] if cycles is not None else []
    told += [f"{link_us:.3g} µs of link"] if link_us is not None else []
    return "".join(f", {word}" for word in told)
