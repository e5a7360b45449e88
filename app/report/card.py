"""How full the simulated cards are, and what of the latency is the link's."""

from __future__ import annotations

from collections.abc import Sequence

from app.present.figure import Axis, Figure, Mark, Series
from app.report.figures import names_axis
from app.report.shown import Shown
from app.results.text import significant


def fit(cases: Sequence[Shown]) -> Figure | None:
    """The share of a card's weight tiles that each case takes; None where nothing ran on one."""
    known = [one for one in cases if one.figure("weight_tiles_total")]
    if not known:
        return None
    series = []
    for place, one in enumerate(known):
        used, total = (one.figure(f"weight_tiles_{word}") or 0.0 for word in ("used", "total"))
        described = f"{one.name}: {used:.0f} of {total:.0f} tiles{_costs(one)}"
        mark = Mark(100.0 * used / total, place, described, is_hollow=True)
        series.append(
            Series(one.name, (mark,), "bars", one.color, cases=(one.case_id,), has_legend=False)
        )
    return Figure(
        "Weight memory of the simulated cards",
        Axis("weight tiles in use, simulated", "percent", most=100.0),
        names_axis(known),
        tuple(series),
    )


def _costs(one: Shown) -> str:
    cycles, link_us = one.figure("cycles"), one.figure("io_us")
    told = [f"{cycles:,.0f} cycles"] if cycles is not None else []
    told += [f"{significant(link_us)} µs of link"] if link_us is not None else []
    return "".join(f", {word}" for word in told)
