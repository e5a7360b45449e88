"""Figures across devices, accuracies, batch sizes and hosts: how far a model gets on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.capabilities.largest_batch.search import largest_fit, stopped_by
from app.cases.case import Case
from app.cases.column import number_of
from app.cases.status import FAILED, FITS, Status
from app.comparison.aggregate_throughput import HostsTogether
from app.comparison.measured_case import Measured
from app.console.scaling import names_of
from app.formatting import text
from app.formatting.case_labels import labels
from app.present.figure import Axis, Figure, Mark, Series
from app.report.figures import HOLLOW, MOST_SERIES, Shown, interval_mark, names_axis, without_batch
from app.run_folder.run import Run

_RATE = "inferences per second"
_RATE_COLUMN = "throughput_per_s"


def devices(cases: Sequence[Shown]) -> Figure | None:
    """Throughput of each runtime on each host at the batch size that most of them ran; None below
    two."""
    rated = [one for one in cases if one.is_well and one.figure(_RATE_COLUMN)]
    there: dict[float | None, set[tuple[str, str]]] = {}
    for one in rated:
        case = one.measured.case
        there.setdefault(one.figure("batch_size"), set()).add((case.runtime, case.host))
    batch = max(there, key=lambda size: len(there[size]), default=None)
    if len(there.get(batch, ())) < 2:
        return None
    alike = [one for one in rated if one.figure("batch_size") == batch]
    ordered = sorted(alike, key=lambda one: -(one.figure(_RATE_COLUMN) or 0.0))
    series = []
    for place, one in enumerate(ordered):
        mark = interval_mark(one, place, _RATE_COLUMN, "throughput_ci", "per_s")
        if mark is not None:
            cases_of = (one.case_id,)
            series.append(
                Series(one.name, (mark,), color=one.color, cases=cases_of, has_legend=False)
            )
    at = "" if batch is None else f" at batch {batch:.0f}"
    return Figure(
        "Throughput by device",
        Axis(f"{_RATE}{at}", "per_s", "log"),
        names_axis(ordered),
        tuple(series),
        note=f"Line: 95 % interval. {HOLLOW}",
    )


def accuracy(cases: Sequence[Shown]) -> Figure | None:
    """Top-1 over throughput, a point for each case; None where fewer than two have both."""
    known = [one for one in cases if one.figure(_RATE_COLUMN) and one.figure("accuracy_top1")]
    if len(known) < 2:
        return None
    series = []
    for one in known:
        rate, top1 = one.figure(_RATE_COLUMN) or 0.0, 100.0 * (one.figure("accuracy_top1") or 0.0)
        described = f"{one.name}: {top1:.2f} % right, {text.rate_text(rate)}"
        mark = Mark(rate, top1, described, is_hollow=one.is_hollow)
        series.append(Series(one.name, (mark,), color=one.color, cases=(one.case_id,)))
    return Figure(
        "Top-1 accuracy over throughput",
        Axis(_RATE, "per_s", "log"),
        Axis("top-1", "percent"),
        tuple(series),
        note=HOLLOW,
    )


def replicas(cases: Sequence[Shown]) -> Figure | None:
    """Inputs per second over the replicas, and what perfect scaling would give; None where nothing
    was measured with several and alone."""
    by_id = {one.case_id: one for one in cases}
    groups: dict[str, list[Shown]] = {}
    for one in cases:
        base = by_id.get(str(one.row["scaling_baseline_case_id"]))
        if base is not None and one.figure("speedup"):
            groups.setdefault(base.case_id, [base]).append(one)
    series = []
    for group in list(groups.values())[:MOST_SERIES]:
        base, ordered = group[0], sorted(group, key=lambda one: one.figure("replicas") or 1.0)
        counts = [one.figure("replicas") or 1.0 for one in ordered]
        rates = [one.figure(_RATE_COLUMN) or 0.0 for one in ordered]
        ids = tuple(one.case_id for one in ordered)
        measured = tuple(
            Mark(count, rate, f"{one.name}: {text.rate_text(rate)}", is_hollow=one.is_hollow)
            for count, rate, one in zip(counts, rates, ordered, strict=True)
        )
        perfect = tuple(Mark(count, rates[0] * count) for count in counts)
        series += [
            Series(base.name, measured, "line", base.color, base.dash, cases=ids),
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


OF_A_MODEL: tuple[Callable[[Sequence[Shown]], Figure | None], ...] = (devices, replicas)
"""Those of the cases of one model."""


def largest_batch(run: Run, measured: Sequence[Measured]) -> Figure | None:
    """How far each search for the largest batch came, and what stopped it; None without one."""
    if not run.manifest.asked.largest_batch:
        return None
    tried: dict[str, dict[int, Status]] = {}
    ids: dict[str, list[str]] = {}
    subjects: dict[str, Case] = {}
    for one in measured:
        batch, subject = number_of(one.row["batch_size"]), without_batch(run, one.case)
        status = next((s for s in FITS | FAILED if s == one.row["status"]), None)
        if batch is not None and status is not None:
            subjects.setdefault(subject.case_id, subject)
            ids.setdefault(subject.case_id, []).append(one.case.case_id)
            tried.setdefault(subject.case_id, {})[int(batch)] = status
    if not subjects:
        return None
    names = labels(list(subjects.values()))
    series = []
    for place, (key, found) in enumerate(tried.items()):
        largest = largest_fit(found)
        label = f"{largest or 'none'}, {stopped_by(found)}"
        mark = Mark(
            largest or 1.0, place, f"{names[key]}: {label}", label=label, is_hollow=not largest
        )
        series.append(Series(names[key], (mark,), cases=tuple(ids[key]), has_legend=False))
    return Figure(
        "Largest batch that ran",
        Axis("batch size", "count", "log"),
        Axis(names=tuple(names[key] for key in tried)),
        tuple(series),
        note="Right of a mark: what stopped the next batch. Hollow: not even the first ran.",
    )


def hosts(found: Sequence[HostsTogether]) -> Figure | None:
    """Inputs per second of each case that is added over hosts, a part of the bar for each; None
    without one."""
    added = [one for one in found if not one.absent]
    if not added:
        return None
    ends = [0.0] * len(added)
    series = []
    for number, host in enumerate(dict.fromkeys(h for one in added for h in one.hosts)):
        marks, ids = [], []
        for place, one in enumerate(added):
            if host not in one.hosts:
                continue
            at = one.hosts.index(host)
            start, ends[place] = ends[place], ends[place] + one.rates[at]
            described = f"{host}: {text.rate_text(one.rates[at])}"
            marks.append(Mark(ends[place], place, described, start=start))
            ids.append(one.parts[at].case.case_id)
        series.append(Series(host, tuple(marks), "bars", number, cases=tuple(ids)))
    bounded = tuple(
        Mark(
            one.per_s,
            place,
            f"together {text.rate_text(one.per_s)} "
            f"({text.rate_interval(one.interval.low, one.interval.high)})",
            one.interval.low,
            one.interval.high,
        )
        for place, one in enumerate(added)
        if one.interval
    )
    if bounded:
        series.append(Series("together, 95 % interval", bounded, color=6, symbol="diamond"))
    return Figure(
        "Throughput of all machines together",
        Axis("inputs per second", "per_s"),
        Axis(names=tuple(names_of(added))),
        tuple(series),
    )
