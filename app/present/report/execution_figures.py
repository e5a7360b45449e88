"""Figures of execution: slowest operators, and the resources and schedule of a simulated card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.analysis.plot_data.card import (
    CardEvent,
    CardRun,
    assign_lines,
    card_runs,
    question,
)
from app.cases.jobs import Operator, OperatorTimes, Peak
from app.formatting import text
from app.formatting.text import significant
from app.present.document import Block, Paragraph
from app.present.figure import Axis, Figure, Mark, Series
from app.present.report.figures import TimedCase, names_axis, series_of
from app.runs.following.state import case_operators
from exporters.types import GraphlapError

MAXIMUM_OPS = 15
_MAXIMUM_NODES = 4
_PEAK_COLOR = 6


def operator_figures(cases: Sequence[TimedCase]) -> Iterator[Figure]:
    """The slowest operators, their roofline and their memory, of each case that has operator
    times."""
    for case in cases:
        times = case_operators(case.run, case.measured.case)
        if times is None or not times.ops:
            continue
        yield slowest_operators(case, times)
        for draw in (roofline, memory):
            roof_figure = draw(case, times)
            if roof_figure is not None:
                yield roof_figure


def slowest_operators(case: TimedCase, times: OperatorTimes) -> Figure:
    """A bar for each of the slowest operators, with its share of all."""
    ops = sorted(times.ops, key=lambda op: -op.time_us)[:MAXIMUM_OPS]
    marks = tuple(
        Mark(
            op.time_us,
            place,
            f"{text.latency(op.time_us)}, {_share(op, times.total_us)}: {_nodes(op)}",
            label=_share(op, times.total_us),
        )
        for place, op in enumerate(ops)
    )
    return Figure(
        f"Operators of {case.label}, {text.CLOCK_TEXT[times.clock]}",
        Axis("time in one run", "us"),
        Axis(names=tuple(f"{place}. {op.op}" for place, op in enumerate(ops, 1))),
        (series_of(case, marks, "bars", has_legend=False),),
        note=f"{len(ops)} of {text.counted(len(times.ops), 'operator')}, "
        f"median of {text.counted(times.runs, 'run')}.",
    )


def roofline(case: TimedCase, times: OperatorTimes) -> Figure | None:
    """FLOP/s of each operator over the FLOP that it does with a byte, below the machine's peaks;
    None where nobody measured them or no operator's work is known."""
    measured_ops = [op for op in times.ops if op.macs and op.bytes_moved and op.time_us]
    peak = times.peak
    if peak is None or peak.flops_per_s <= 0 or peak.bytes_per_s <= 0 or not measured_ops:
        return None
    marks = tuple(
        Mark(
            2 * (op.macs or 0) / (op.bytes_moved or 1),
            2e6 * (op.macs or 0) / op.time_us,
            f"{op.op} {_nodes(op)}",
            is_hollow=case.is_hollow,
        )
        for op in measured_ops
    )
    return Figure(
        f"Roofline of {case.label}",
        Axis("FLOP per byte moved", "", "log"),
        Axis("FLOP/s", "count", "log"),
        (
            series_of(case, marks),
            _roof(peak, min(mark.x for mark in marks), max(mark.x for mark in marks)),
        ),
        note=f"Peak: {peak.how}.",
    )


def memory(case: TimedCase, times: OperatorTimes) -> Figure | None:
    """Bytes in use while each operator runs, in the order of execution, with the high-water mark
    and its operator; None where the engine reports none."""
    highest = times.high_water
    if highest is None:
        return None
    most = float(highest.peak_bytes or 0)
    label = f"{text.amount(most, 'B')} at {highest.op} {_nodes(highest)}"
    used_marks, arena_marks = [], []
    for place, op in enumerate(times.ops, 1):
        if op.peak_bytes is not None:
            used_marks.append(Mark(place, op.peak_bytes, f"{op.op} {_nodes(op)}"))
        if op.arena_bytes is not None:
            arena_marks.append(Mark(place, op.arena_bytes))
        if op is highest:
            top = Mark(place, most, label)
    cases = (case.case_id,)
    return Figure(
        f"Memory of the operators of {case.label}",
        Axis("operator, in the order of execution"),
        Axis("memory", "bytes", least=0.0),
        (
            Series("in use", tuple(used_marks), "line", case.color, cases=cases),
            Series(
                "held by the allocator", tuple(arena_marks), "line", case.color, 1, "none", cases
            ),
            Series("high-water mark", (top,), color=_PEAK_COLOR, cases=cases),
        ),
        note=f"Most in use: {label}. The most of all runs of the profile; weights that lie in the "
        "allocator's memory are counted.",
    )


def _roof(peak: Peak, minimum: float, maximum: float) -> Series:
    """Memory bounds the left of it, arithmetic the right."""
    ridge = peak.flops_per_s / peak.bytes_per_s
    places = sorted({min(minimum, ridge) / 2, ridge, max(maximum, ridge) * 2})
    marks = (Mark(place, min(peak.flops_per_s, peak.bytes_per_s * place)) for place in places)
    return Series("peak of this machine", tuple(marks), "line", _PEAK_COLOR, 1, "none")


def _share(op: Operator, total_us: float) -> str:
    share = f"{op.time_us / total_us:.1%}" if total_us else ""
    return share if op.peak_share is None else f"{share}, {op.peak_share:.0%} of peak"


def _nodes(op: Operator) -> str:
    """The first of the file's nodes that it holds, or its own name."""
    return text.first_of(op.holds, _MAXIMUM_NODES) or op.node


def fit(cases: Sequence[TimedCase]) -> Figure | None:
    """The share of a card's weight tiles that each case takes; None where nothing ran on one."""
    complete = [case for case in cases if case.figure("weight_tiles_total")]
    if not complete:
        return None
    series = []
    for place, case in enumerate(complete):
        used_tiles, total = (
            case.figure(f"weight_tiles_{word}") or 0.0 for word in ("used", "total")
        )
        description = f"{case.name}: {used_tiles:.0f} of {total:.0f} tiles{_costs(case)}"
        mark = Mark(100.0 * used_tiles / total, place, description, is_hollow=True)
        series.append(series_of(case, (mark,), "bars", has_legend=False))
    return Figure(
        "Weight memory of the simulated cards",
        Axis("weight tiles in use, simulated", "percent", most=100.0),
        names_axis(complete),
        tuple(series),
    )


def _costs(case: TimedCase) -> str:
    cycles, link_us = case.figure("cycles"), case.figure("io_us")
    parts = [f"{cycles:,.0f} cycles"] if cycles is not None else []
    parts += [f"{significant(link_us)} µs of link"] if link_us is not None else []
    return "".join(f", {word}" for word in parts)


MAXIMUM_FIGURES = 12
MAXIMUM_EVENTS = 400
"""Of a schedule the longest are drawn: thousands of others would be too thin to see."""


def card_figures(cases: Sequence[TimedCase]) -> Iterator[Block]:
    """A figure, or why there is none, of the first case of each model on each card; nothing where
    nothing ran on one. Waits for a process that compiles them."""
    simulated = [(case, line) for case in cases if (line := question_for(case))]
    first: dict[tuple[str, str], tuple[TimedCase, str]] = {}
    for case, line in simulated:
        first.setdefault((case.measured.case.model, case.measured.case.runtime), (case, line))
    selection = list(first.values())[:MAXIMUM_FIGURES]
    answers = card_runs([line for _, line in selection])
    for (case, _), answer in zip(selection, answers, strict=True):
        if isinstance(answer, GraphlapError):
            yield Paragraph(f"{_title(case)}: not available ({answer.cause}); {answer.remedy}")
        else:
            yield schedule(case, answer)
    if len(selection) < len(simulated):
        yield Paragraph(
            f"The schedules of {len(selection)} of {len(simulated)} simulated cases are drawn: the "
            f"first of each model on each card, {MAXIMUM_FIGURES} at most. The window shows any."
        )


def schedule(case: TimedCase | None, run: CardRun, maximum: int | None = MAXIMUM_EVENTS) -> Figure:
    """A lane for each unit; what issues is solid, what is in the pipeline pale."""
    ids, color = ((case.case_id,), case.color) if case else ((), 0)
    longest = sorted(run.events, key=lambda event: event.begun - event.done)[:maximum]
    lanes = {
        unit: assign_lines([event for event in longest if event.unit == unit]) for unit in run.units
    }
    lines = {unit: 1 + max((line for _, line in lane), default=0) for unit, lane in lanes.items()}
    events = [
        (event, row - 0.5 + (line + 0.5) / lines[unit])
        for row, (unit, lane) in enumerate(lanes.items())
        for event, line in lane
    ]
    thickness = 0.8 / max(lines.values(), default=1)
    issues = tuple(
        Mark(event.issued, place, _event_text(event), start=event.begun) for event, place in events
    )
    flows = tuple(
        Mark(event.done, place, _event_text(event), start=event.issued) for event, place in events
    )
    is_part = len(longest) < len(run.events)
    prefix = f"The longest {len(longest)} of {len(run.events)}. " if is_part else ""
    issuing = Series("issues", issues, "bars", color, cases=ids, thickness=thickness)
    return Figure(
        _title(case) if case else "Units",
        Axis(
            f"cycles after the request arrived ({run.cycles:,} at {run.clock_mhz:g} MHz)",
            "count",
            least=0.0,
            most=max(1, run.cycles),
        ),
        Axis(names=tuple(lanes)),
        (
            issuing,
            replace(issuing, name="in the pipeline", marks=flows, is_pale=True),
        ),
        note=f"{prefix}The link takes {significant(run.io_us)} µs more.",
    )


def _title(case: TimedCase) -> str:
    return f"Schedule of {case.label}, simulated"


def question_for(case: TimedCase) -> str:
    """The question for its schedule; "" of a case that does not run on a card."""
    model = case.run.model_of(case.measured.case)
    return "" if model is None else question(case.measured.case, model)


def _event_text(event: CardEvent) -> str:
    early_text = f", {event.ahead:,} of it before the request came" if event.ahead else ""
    return f"{event.name}: cycles {event.begun:,} to {event.done:,}{early_text}"
