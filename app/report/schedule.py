"""What a simulated card does with one request: which instruction on which unit in which cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.present.document import Block, Paragraph
from app.present.figure import Axis, Figure, Mark, Series
from app.report.shown import Shown
from app.results.card_run import CardEvent, CardRun, card_runs, placed, question
from app.results.text import significant
from exporters.types import GraphlapError

MOST_FIGURES = 12
MOST_EVENTS = 400
"""Of a schedule the longest are drawn: thousands of others would be too thin to see."""


def of_cards(cases: Sequence[Shown]) -> Iterator[Block]:
    """A figure, or why there is none, of the first case of each model on each card; nothing where
    nothing ran on one. Waits for a process that compiles them."""
    simulated = [(one, line) for one in cases if (line := asked_of(one))]
    first: dict[tuple[str, str], tuple[Shown, str]] = {}
    for one, line in simulated:
        first.setdefault((one.measured.case.model, one.measured.case.runtime), (one, line))
    chosen = list(first.values())[:MOST_FIGURES]
    answers = card_runs([line for _, line in chosen])
    for (one, _), answer in zip(chosen, answers, strict=True):
        if isinstance(answer, GraphlapError):
            yield Paragraph(f"{_title(one)}: not available ({answer.cause}); {answer.remedy}")
        else:
            yield schedule(one, answer)
    if len(chosen) < len(simulated):
        yield Paragraph(
            f"The schedules of {len(chosen)} of {len(simulated)} simulated cases are drawn: the "
            f"first of each model on each card, {MOST_FIGURES} at most. The window shows any."
        )


def schedule(one: Shown, run: CardRun) -> Figure:
    """A lane for each unit; what issues is solid, what is in the pipeline pale."""
    drawn = sorted(run.events, key=lambda event: event.begun - event.done)[:MOST_EVENTS]
    lanes = {unit: placed([event for event in drawn if event.unit == unit]) for unit in run.units}
    lines = {unit: 1 + max((line for _, line in lane), default=0) for unit, lane in lanes.items()}
    events = [
        (event, row - 0.5 + (line + 0.5) / lines[unit])
        for row, (unit, lane) in enumerate(lanes.items())
        for event, line in lane
    ]
    thickness = 0.8 / max(lines.values(), default=1)
    issues = tuple(
        Mark(event.issued, place, _described(event), start=event.begun) for event, place in events
    )
    flows = tuple(
        Mark(event.done, place, _described(event), start=event.issued) for event, place in events
    )
    of = "" if len(drawn) == len(run.events) else f"The longest {len(drawn)} of {len(run.events)}. "
    ids = (one.case_id,)
    return Figure(
        _title(one),
        Axis(
            f"cycles after the request arrived ({run.cycles:,} at {run.clock_mhz:g} MHz)",
            "count",
            least=0.0,
            most=max(1, run.cycles),
        ),
        Axis(names=tuple(lanes)),
        (
            Series("issues", issues, "bars", one.color, cases=ids, thickness=thickness),
            Series(
                "in the pipeline",
                flows,
                "bars",
                one.color,
                cases=ids,
                is_pale=True,
                thickness=thickness,
            ),
        ),
        note=f"{of}The link takes {significant(run.io_us)} µs more.",
    )


def _title(one: Shown) -> str:
    return f"Schedule of {one.label}, simulated"


def asked_of(one: Shown) -> str:
    """The question for its schedule; "" of a case that does not run on a card."""
    model = one.run.model_of(one.measured.case)
    return "" if model is None else question(one.measured.case, model)


def _described(event: CardEvent) -> str:
    ahead = f", {event.ahead:,} of it before the request came" if event.ahead else ""
    return f"{event.name}: cycles {event.begun:,} to {event.done:,}{ahead}"
