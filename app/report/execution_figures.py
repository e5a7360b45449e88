"""Figures of execution: slowest operators, and the resources and schedule of a simulated card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.capabilities.simulated_card.inference import (
    CardEvent,
    CardRun,
    card_runs,
    placed,
    question,
)
from app.cases.jobs import Operator, OperatorTimes, Peak
from app.formatting import text
from app.formatting.text import significant
from app.present.document import Block, Paragraph
from app.present.figure import Axis, Figure, Mark, Series
from app.report.figures import Shown, names_axis
from app.runs.following.state import case_operators
from exporters.types import GraphlapError

MOST_OPS = 15
_MOST_NODES = 4
_PEAK_COLOR = 6


def of_operators(cases: Sequence[Shown]) -> Iterator[Figure]:
    """The slowest operators, their roofline and their memory, of each case that has operator
    times."""
    for one in cases:
        times = case_operators(one.run, one.measured.case)
        if times is None or not times.ops:
            continue
        yield slowest(one, times)
        for draw in (roofline, memory):
            drawn = draw(one, times)
            if drawn is not None:
                yield drawn


def slowest(one: Shown, times: OperatorTimes) -> Figure:
    """A bar for each of the slowest operators, with its share of all."""
    ops = sorted(times.ops, key=lambda op: -op.time_us)[:MOST_OPS]
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
        f"Operators of {one.label}, {text.CLOCK_TEXT[times.clock]}",
        Axis("time in one run", "us"),
        Axis(names=tuple(f"{place}. {op.op}" for place, op in enumerate(ops, 1))),
        (Series(one.name, marks, "bars", one.color, cases=(one.case_id,), has_legend=False),),
        note=f"{len(ops)} of {len(times.ops)} operators, median of {times.runs} runs.",
    )


def roofline(one: Shown, times: OperatorTimes) -> Figure | None:
    """FLOP/s of each operator over the FLOP that it does with a byte, below the machine's peaks;
    None where nobody measured them or no operator's work is known."""
    known = [op for op in times.ops if op.macs and op.bytes_moved and op.time_us]
    peak = times.peak
    if peak is None or peak.flops_per_s <= 0 or peak.bytes_per_s <= 0 or not known:
        return None
    marks = tuple(
        Mark(
            2 * (op.macs or 0) / (op.bytes_moved or 1),
            2e6 * (op.macs or 0) / op.time_us,
            f"{op.op} {_nodes(op)}",
            is_hollow=one.is_hollow,
        )
        for op in known
    )
    return Figure(
        f"Roofline of {one.label}",
        Axis("FLOP per byte moved", "", "log"),
        Axis("FLOP/s", "count", "log"),
        (
            Series(one.name, marks, color=one.color, cases=(one.case_id,)),
            _roof(peak, min(mark.x for mark in marks), max(mark.x for mark in marks)),
        ),
        note=f"Peak: {peak.how}.",
    )


def memory(one: Shown, times: OperatorTimes) -> Figure | None:
    """Bytes in use while each operator runs, in the order of execution, with the high-water mark
    and its operator; None where the engine reports none."""
    highest = times.high_water
    if highest is None:
        return None
    most = float(highest.peak_bytes or 0)
    label = f"{text.amount(most, 'B')} at {highest.op} {_nodes(highest)}"
    used, held = [], []
    for place, op in enumerate(times.ops, 1):
        if op.peak_bytes is not None:
            used.append(Mark(place, op.peak_bytes, f"{op.op} {_nodes(op)}"))
        if op.arena_bytes is not None:
            held.append(Mark(place, op.arena_bytes))
        if op is highest:
            top = Mark(place, most, label)
    cases = (one.case_id,)
    return Figure(
        f"Memory of the operators of {one.label}",
        Axis("operator, in the order of execution"),
        Axis("memory", "bytes", least=0.0),
        (
            Series("in use", tuple(used), "line", one.color, cases=cases),
            Series("held by the allocator", tuple(held), "line", one.color, 1, "none", cases),
            Series("high-water mark", (top,), color=_PEAK_COLOR, cases=cases),
        ),
        note=f"Most in use: {label}. The most of all runs of the profile; weights that lie in the "
        "allocator's memory are counted.",
    )


def _roof(peak: Peak, least: float, most: float) -> Series:
    """Memory bounds the left of it, arithmetic the right."""
    ridge = peak.flops_per_s / peak.bytes_per_s
    places = sorted({min(least, ridge) / 2, ridge, max(most, ridge) * 2})
    marks = (Mark(place, min(peak.flops_per_s, peak.bytes_per_s * place)) for place in places)
    return Series("peak of this machine", tuple(marks), "line", _PEAK_COLOR, 1, "none")


def _share(op: Operator, total_us: float) -> str:
    share = f"{op.time_us / total_us:.1%}" if total_us else ""
    return share if op.peak_share is None else f"{share}, {op.peak_share:.0%} of peak"


def _nodes(op: Operator) -> str:
    """The first of the file's nodes that it holds, or its own name."""
    held = ", ".join(op.holds[:_MOST_NODES])
    more = f" and {len(op.holds) - _MOST_NODES} more" if len(op.holds) > _MOST_NODES else ""
    return f"{held}{more}" or op.node


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
