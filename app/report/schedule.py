"""What a simulated card does with one request: which instruction on which unit in which cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.present.html import safe
from app.report.shown import Shown
from app.results.card_run import CardEvent, CardRun, card_runs, placed, question
from app.results.text import significant
from exporters.types import GraphlapError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_FIGURES = 12
MOST_EVENTS = 400
"""Of a schedule the longest are drawn: thousands of others would be too thin to see."""
_UNIT_PX, _FRAME_PX = 76, 140
_PALE = 0.35


def of_cards(cases: Sequence[Shown]) -> Iterator[tuple[str, Figure | str]]:
    """A heading and a figure, or a sentence, of the first case of each model on each card; nothing
    where nothing ran on one. Waits for a process that compiles them. Text is escaped."""
    simulated = [(one, line) for one in cases if (line := asked_of(one))]
    first: dict[tuple[str, str], tuple[Shown, str]] = {}
    for one, line in simulated:
        first.setdefault((one.measured.case.model, one.measured.case.runtime), (one, line))
    chosen = list(first.values())[:MOST_FIGURES]
    answers = card_runs([line for _, line in chosen])
    for (one, _), answer in zip(chosen, answers, strict=True):
        heading = f"Schedule of {one.label}, simulated"
        if isinstance(answer, GraphlapError):
            yield heading, f"{heading}: there is none ({safe(answer.cause)}); {safe(answer.remedy)}"
        else:
            yield heading, schedule(one, answer)
    if len(chosen) < len(simulated):
        yield (
            "Other schedules",
            f"The schedules of {len(chosen)} of {len(simulated)} simulated cases are drawn: the "
            f"first of each model on each card, {MOST_FIGURES} at most. The window shows any.",
        )


def schedule(one: Shown, run: CardRun) -> Figure:
    """A lane for each unit; what issues is solid, what is in the pipeline pale."""
    from plotly import graph_objects as go

    drawn = sorted(run.events, key=lambda event: event.begun - event.done)[:MOST_EVENTS]
    lanes = {unit: placed([event for event in drawn if event.unit == unit]) for unit in run.units}
    lines = {unit: 1 + max((line for _, line in lane), default=0) for unit, lane in lanes.items()}
    events = [event for lane in lanes.values() for event, _ in lane]
    places = [
        row - 0.5 + (line + 0.5) / lines[unit]
        for row, (unit, lane) in enumerate(lanes.items())
        for _, line in lane
    ]
    figure = go.Figure()
    for name, opacity, spans in (
        ("issues", 1.0, [(event.begun, event.issued) for event in events]),
        ("in the pipeline", _PALE, [(event.issued, event.done) for event in events]),
    ):
        figure.add_bar(
            base=[begun for begun, _ in spans],
            x=[done - begun for begun, done in spans],
            y=places,
            width=0.7 / max(lines.values(), default=1),
            orientation="h",
            name=name,
            meta=one.case_id,
            marker={"color": one.color, "opacity": opacity},
            customdata=[_told(event) for event in events],
            hovertemplate="%{customdata}<extra></extra>",
        )
    of = "" if len(drawn) == len(run.events) else f"; the longest {len(drawn)} of {len(run.events)}"
    figure.update_xaxes(
        title=f"cycles after the request arrived: {run.cycles:,} at {run.clock_mhz:g} MHz, beside "
        f"{significant(run.io_us)} µs of link{of}",
        range=[0, max(1, run.cycles)],
    )
    figure.update_yaxes(
        tickvals=list(range(len(lanes))),
        ticktext=[safe(unit) for unit in lanes],
        range=[len(lanes) - 0.5, -0.5],
    )
    figure.update_layout(barmode="overlay", height=_FRAME_PX + _UNIT_PX * len(lanes))
    return figure


def asked_of(one: Shown) -> str:
    """The question for its schedule; "" of a case that does not run on a card."""
    model = one.run.model_of(one.measured.case)
    return "" if model is None else question(one.measured.case, model)


def _told(event: CardEvent) -> str:
    ahead = f", {event.ahead:,} of it before the request came" if event.ahead else ""
    return safe(f"{event.name}: cycles {event.begun:,} to {event.done:,}{ahead}")
