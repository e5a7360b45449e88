"""Where a run spends its time: the slowest operators, and how near the machine's peak they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.operators import Operator, OperatorTimes, Peak
from app.present.figure import Axis, Figure, Mark, Series
from app.report.shown import Shown
from app.results import text
from app.results.follow.details import case_operators

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
