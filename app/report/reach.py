"""Figures of how far a model gets: on which device, at what accuracy, with how large a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.cases.case import Case
from app.cases.column import number_of
from app.cases.status import FAILED, FITS, Status
from app.present.html import safe
from app.report.shown import NAMED, NAMES, Shown, without_batch
from app.results.labels import labels
from app.results.measured import Measured
from app.results.run import Run
from app.results.searches import largest_fit, stopped_by
from app.results.text import is_too_noisy

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_RATE = "inferences a second"
_PERFECT = "if each served as much as one"
_ROW_PX, _FRAME_PX = 26, 140


def devices(cases: Sequence[Shown]) -> Figure | None:
    """Throughput of each runtime on each host at the batch size that most of them ran; None below
    two."""
    from plotly import graph_objects as go

    rated = [one for one in cases if one.is_well and one.figure("throughput_per_s")]
    there: dict[float | None, set[tuple[str, str]]] = {}
    for one in rated:
        case = one.measured.case
        there.setdefault(one.figure("batch_size"), set()).add((case.runtime, case.host))
    batch = max(there, key=lambda size: len(there[size]), default=None)
    if len(there.get(batch, ())) < 2:
        return None
    figure = go.Figure()
    alike = [one for one in rated if one.figure("batch_size") == batch]
    for one in sorted(alike, key=lambda one: -(one.figure("throughput_per_s") or 0.0)):
        rate = one.figure("throughput_per_s") or 0.0
        low, high = (one.figure(f"throughput_ci_{end}_per_s") for end in ("low", "high"))
        if low is not None and high is not None and is_too_noisy(low, high):
            low = high = None
        figure.add_bar(
            x=[rate],
            y=[one.name],
            orientation="h",
            name=one.name,
            meta=one.case_id,
            marker={
                "color": "rgba(0,0,0,0)" if one.simulated else one.color,
                "line": {"color": one.color, "width": 1.5},
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [high - rate if high is not None else 0.0],
                "arrayminus": [rate - low if low is not None else 0.0],
            },
            hovertemplate="%{x:.4g} a second<extra>%{y}</extra>",
            showlegend=False,
        )
    told = "" if batch is None else f", batch {batch:.0f}"
    figure.update_xaxes(type="log", title=f"{_RATE}{told}; bars 95 %, hollow simulated")
    figure.update_yaxes(**NAMES)
    figure.update_layout(height=_FRAME_PX + _ROW_PX * len(alike))
    return figure


def accuracy(cases: Sequence[Shown]) -> Figure | None:
    """Top-1 over throughput, a point for each case; None where fewer than two have both."""
    from plotly import graph_objects as go

    told = [one for one in cases if one.figure("throughput_per_s") and one.figure("accuracy_top1")]
    if len(told) < 2:
        return None
    figure = go.Figure()
    for one in told:
        figure.add_scatter(
            x=[one.figure("throughput_per_s")],
            y=[100.0 * (one.figure("accuracy_top1") or 0.0)],
            mode="markers",
            name=one.name,
            meta=one.case_id,
            marker={"color": one.color, "size": 11, "symbol": one.symbol("circle")},
            hovertemplate=f"%{{y:.2f}} % right, %{{x:.4g}} a second{NAMED}",
        )
    figure.update_xaxes(type="log", title=_RATE)
    figure.update_yaxes(title="top-1 (%)")
    return figure


def replicas(cases: Sequence[Shown]) -> Figure | None:
    """Inputs in a second over the replicas, and as many as perfect scaling would give; None where
    nothing was measured with several and alone."""
    from plotly import graph_objects as go

    by_id = {one.case_id: one for one in cases}
    groups: dict[str, list[Shown]] = {}
    for one in cases:
        base = by_id.get(str(one.row["scaling_baseline_case_id"]))
        if base is not None and one.figure("speedup"):
            groups.setdefault(base.case_id, [base]).append(one)
    figure = go.Figure()
    for group in groups.values():
        base, ordered = group[0], sorted(group, key=lambda one: one.figure("replicas") or 1.0)
        counts = [one.figure("replicas") or 1.0 for one in ordered]
        rate = base.figure("throughput_per_s") or 0.0
        ids = " ".join(one.case_id for one in ordered)
        line = {"color": base.color, "dash": base.dash}
        for name, rates, look in (
            (base.name, [one.figure("throughput_per_s") for one in ordered], line),
            (f"{base.name}, {_PERFECT}", [rate * n for n in counts], {**line, "width": 0.5}),
        ):
            mode = "lines" if look is not line else "lines+markers"
            figure.add_scatter(x=counts, y=rates, mode=mode, name=name, meta=ids, line=look)
    if not figure.data:
        return None
    figure.update_xaxes(type="log", title="replicas")
    figure.update_yaxes(type="log", title=f"{_RATE}, all replicas together")
    return figure


OF_A_MODEL: dict[str, Callable[[Sequence[Shown]], Figure | None]] = {
    "Throughput by device": devices,
    "Throughput over replicas": replicas,
}
"""By their headings, those of the cases of one model."""


def largest_batch(run: Run, measured: Sequence[Measured]) -> Figure | None:
    """How far each search for the largest batch came, and what stopped it; None without one."""
    if not run.manifest.asked.largest_batch:
        return None
    from plotly import graph_objects as go

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
    figure = go.Figure()
    for key, found in tried.items():
        ending = stopped_by(found)
        figure.add_bar(
            x=[largest_fit(found) or None],
            y=[safe(names[key])],
            text=[safe(f"{largest_fit(found) or 'none'}, {ending}")],
            textposition="auto",
            orientation="h",
            name=safe(names[key]),
            meta=" ".join(ids[key]),
            hovertemplate="%{text}<extra>%{y}</extra>",
            showlegend=False,
        )
    figure.update_xaxes(type="log", title="the largest batch that ran")
    figure.update_yaxes(**NAMES)
    figure.update_layout(height=_FRAME_PX + _ROW_PX * len(subjects))
    return figure
