"""Figure of what several machines serve together, a bar for each case in parts by host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.console.hosts_together import names_of
from app.present.html import safe
from app.report.shown import COLORS, NAMES
from app.results.hosts_together import HostsTogether

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW_PX, _FRAME_PX = 26, 160


def hosts(found: Sequence[HostsTogether]) -> Figure | None:
    """Inputs in a second of each case that is added over hosts, a part of the bar for each; None
    without one."""
    from plotly import graph_objects as go

    added = [one for one in found if not one.absent]
    if not added:
        return None
    names = list(map(safe, names_of(added)))
    figure = go.Figure()
    for number, host in enumerate(dict.fromkeys(h for one in added for h in one.hosts)):
        rates = [dict(zip(one.hosts, one.rates, strict=True)).get(host) for one in added]
        ids = [dict(zip(one.hosts, one.parts, strict=True)).get(host) for one in added]
        figure.add_bar(
            x=rates,
            y=names,
            orientation="h",
            name=safe(host),
            meta=" ".join(one.case.case_id for one in ids if one is not None),
            marker={"color": COLORS[number % len(COLORS)]},
            hovertemplate="%{x:.4g} a second<extra>%{fullData.name}</extra>",
        )
    bounded = [(name, one) for name, one in zip(names, added, strict=True) if one.interval]
    if bounded:
        figure.add_scatter(
            x=[one.per_s for _, one in bounded],
            y=[name for name, _ in bounded],
            mode="markers",
            name="together, 95 %",
            marker={"color": "#000000", "size": 5},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [one.interval.high - one.per_s for _, one in bounded if one.interval],
                "arrayminus": [one.per_s - one.interval.low for _, one in bounded if one.interval],
            },
        )
    figure.update_xaxes(title="inputs a second, all machines together")
    figure.update_yaxes(**NAMES)
    figure.update_layout(barmode="stack", height=_FRAME_PX + _ROW_PX * len(added))
    return figure
