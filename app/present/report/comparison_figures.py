"""Figures across devices, accuracies, batch sizes and hosts: how far a model gets on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.analysis.comparison.aggregate_throughput import AggregateThroughput
from app.analysis.comparison.judge import Comparison, Sides
from app.cases.units import percentile_label
from app.formatting import text
from app.present.console.scaling import names_of
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series
from app.present.report.figures import (
    HOLLOW,
    MAXIMUM_SERIES,
    Drawn,
    TimedCase,
    interval_figure,
    series_of,
)

_RATE = "inferences per second"
_RATE_COLUMN = "throughput_per_s"


def devices(cases: Sequence[TimedCase]) -> Figure | None:
    """Throughput of each runtime on each host at the batch size that most of them ran; None below
    two."""
    rated_cases = [case for case in cases if case.is_well and case.figure(_RATE_COLUMN)]
    places_by_size: dict[float | None, set[tuple[str, str]]] = {}
    for case in rated_cases:
        place = (case.measured.case.runtime, case.measured.case.host)
        places_by_size.setdefault(case.figure("batch_size"), set()).add(place)
    batch = max(places_by_size, key=lambda size: len(places_by_size[size]), default=None)
    if len(places_by_size.get(batch, ())) < 2:
        return None
    comparable = [case for case in rated_cases if case.figure("batch_size") == batch]
    sorted_cases = sorted(comparable, key=lambda case: -(case.figure(_RATE_COLUMN) or 0.0))
    batch_text = "" if batch is None else f" at batch {batch:.0f}"
    x, note = Axis(f"{_RATE}{batch_text}", "per_s", "log"), f"Line: 95 % interval. {HOLLOW}"
    return interval_figure("Throughput by device", x, sorted_cases, {_RATE_COLUMN: ""}, note)


def accuracy(cases: Sequence[Drawn]) -> Figure | None:
    """Top-1 over throughput, a point for each case; None where fewer than two have both."""
    complete = [
        (case, rate, 100.0 * top1)
        for case in cases
        if (rate := case.figure(_RATE_COLUMN))
        and (top1 := case.figure("accuracy_top1")) is not None
    ]
    if len(complete) < 2:
        return None
    series = []
    for case, rate, top1 in complete:
        description = f"{case.name}: {top1:.2f} % right, {text.rate_text(rate)}"
        mark = Mark(rate, top1, description, is_hollow=case.is_hollow)
        series.append(series_of(case, (mark,)))
    return Figure(
        "Top-1 accuracy over throughput",
        Axis(_RATE, "per_s", "log"),
        Axis("top-1", "percent"),
        tuple(series),
        note=HOLLOW,
    )


def replicas(cases: Sequence[TimedCase]) -> Figure | None:
    """Inputs per second over the replicas, and what perfect scaling would give; None where nothing
    was measured with several and alone."""
    by_id = {case.case_id: case for case in cases}
    groups: dict[str, list[TimedCase]] = {}
    for case in cases:
        base = by_id.get(str(case.row["scaling_baseline_case_id"]))
        if base is not None and case.figure("speedup"):
            groups.setdefault(base.case_id, [base]).append(case)
    series = []
    for group in list(groups.values())[:MAXIMUM_SERIES]:
        base = group[0]
        sorted_cases = sorted(group, key=lambda case: case.figure("replicas") or 1.0)
        counts = [case.figure("replicas") or 1.0 for case in sorted_cases]
        rates = [case.figure(_RATE_COLUMN) or 0.0 for case in sorted_cases]
        ids = tuple(case.case_id for case in sorted_cases)
        marks = tuple(
            Mark(count, rate, f"{case.name}: {text.rate_text(rate)}", is_hollow=case.is_hollow)
            for count, rate, case in zip(counts, rates, sorted_cases, strict=True)
        )
        perfect = tuple(Mark(count, rates[0] * count) for count in counts)
        series += [
            Series(base.name, marks, "line", base.color, base.dash, cases=ids),
            Series(f"{base.name}, linear scaling", perfect, "line", base.color, 2, "none", ids),
        ]
    if not series:
        return None
    return Figure(
        "Throughput over replicas",
        Axis("replicas", "count", "log"),
        Axis(f"{_RATE}, all replicas together", "per_s", "log"),
        tuple(series),
    )


MODEL_FIGURES: tuple[Callable[[Sequence[TimedCase]], Figure | None], ...] = (devices, replicas)
"""Those of the cases of one model."""


def hosts(throughputs: Sequence[AggregateThroughput]) -> Figure | None:
    """Inputs per second of each case that is added over hosts, a part of the bar for each; None
    without one."""
    usable_throughputs = [throughput for throughput in throughputs if not throughput.absent]
    if not usable_throughputs:
        return None
    ends = [0.0] * len(usable_throughputs)
    series = []
    for number, host in enumerate(
        dict.fromkeys(h for throughput in usable_throughputs for h in throughput.hosts)
    ):
        marks, ids = [], []
        for place, throughput in enumerate(usable_throughputs):
            if host not in throughput.hosts:
                continue
            index = throughput.hosts.index(host)
            start, ends[place] = ends[place], ends[place] + throughput.rates[index]
            description = f"{host}: {text.rate_text(throughput.rates[index])}"
            marks.append(Mark(ends[place], place, description, start=start))
            ids.append(throughput.parts[index].case.case_id)
        series.append(Series(host, tuple(marks), "bars", number, cases=tuple(ids)))
    interval_marks = tuple(
        Mark(
            throughput.per_s,
            place,
            f"together {text.rate_text(throughput.per_s)} "
            f"({text.rate_interval(throughput.interval.low, throughput.interval.high)})",
            throughput.interval.low,
            throughput.interval.high,
        )
        for place, throughput in enumerate(usable_throughputs)
        if throughput.interval
    )
    if interval_marks:
        series.append(Series("together, 95 % interval", interval_marks, color=6, symbol="diamond"))
    return Figure(
        "Throughput of all machines together",
        Axis("inputs per second", "per_s"),
        Axis(names=tuple(names_of(usable_throughputs))),
        tuple(series),
    )


_VERDICT_COLORS = {"slower": 1, "faster": 2}
_UNDECIDED_COLOR = 6


def ratio_figures(comparison: Comparison) -> Iterator[Figure]:
    """Of each percentile the second run over the first, with the interval that decided, a series
    for each verdict; clocks are named where one of them is not the usual one."""
    cases = comparison.cases
    is_usual = all(case.clock == "wall" for case in cases)
    labels = tuple(
        case.label if is_usual else f"{case.label} ({text.CLOCK_TEXT[case.clock]})"
        for case in cases
    )
    for name in dict.fromkeys(name for case in cases for name in case.percentiles):
        label, by_word = percentile_label(name), dict[str, list[tuple[Mark, str]]]()
        for place, case in enumerate(cases):
            if (sides := case.percentiles.get(name)) is not None:
                mark = _ratio_mark(place, label, sides)
                by_word.setdefault(sides.verdict.word, []).append((mark, case.case_id))
        series = (
            Series(
                word,
                tuple(mark for mark, _ in pairs),
                color=_VERDICT_COLORS.get(word, _UNDECIDED_COLOR),
                cases=tuple(case_id for _, case_id in pairs),
            )
            for word, pairs in by_word.items()
        )
        has_intervals = any(mark.low is not None for pairs in by_word.values() for mark, _ in pairs)
        yield Figure(
            f"{label}: {comparison.second} over {comparison.first}",
            Axis(f"ratio of {label} (more than 1: slower)", "times", "log", least=0.95, most=1.05),
            Axis(names=labels),
            tuple(series),
            (ReferenceLine("x", 1.0, "equal"),),
            note="Line: interval of the ratio." if has_intervals else "",
        )


def _ratio_mark(place: int, name: str, sides: Sides) -> Mark:
    """What is undecided is hollow: nothing is known, which is not to say that they are the same."""
    verdict, ends = sides.verdict, sides.verdict.interval
    description = f"ratio of {name} {text.significant(sides.ratio, 4)}"
    label, low, high = f"{text.significant(sides.ratio)} {verdict.word}", None, None
    if ends is not None and not text.is_too_noisy(ends.low, ends.high):
        low, high = ends.low, ends.high
        limits = text.ratio_interval(low, high)
        description += f", {100 * verdict.confidence:.4g} %: {limits}"
        label += f"  {limits}"
    description += f", {verdict.word}{f': {verdict.detail}' if verdict.detail else ''}"
    is_hollow = verdict.word == "undecided"
    return Mark(sides.ratio, place, description, low, high, label=label, is_hollow=is_hollow)
