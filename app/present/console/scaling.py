"""Aggregate throughput of several replicas and of several hosts, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.analysis.comparison.aggregate_throughput import HOSTS, MANY, AggregateThroughput, hosts_csv
from app.cases.case import Case
from app.cases.column import Row, number_of
from app.formatting import text
from app.formatting.case_labels import CaseSet, labels
from app.plan.plan import Plan
from app.plan.settings.sweep import SHARED_WORK
from app.present.document import (
    Block,
    Cell,
    Column,
    Paragraph,
    names,
    rate_cell,
    ratio_cell,
    section,
    share_cell,
)
from app.run_folder.folder import RunFolder
from app.stats.intervals import MINIMUM_ROUNDS

HEADING = "hosts together"
_CAPTION = (
    "efficiency is the speedup over as many of the fastest; the work is dealt out in proportion to "
    "the rates, and what that costs is not in it"
)


def throughput_tables(throughputs: Sequence[AggregateThroughput]) -> Iterator[Block]:
    """One table of the cases whose rates are added, then why others are not."""
    named_throughputs = list(zip(names_of(throughputs), throughputs, strict=True))
    throughput_rows = [
        (name, throughput) for name, throughput in named_throughputs if not throughput.absent
    ]
    if throughput_rows:
        headings = ("inputs/s", "share", "95 %", "speedup", "efficiency", "1M inputs")
        rows = [cells for name, throughput in throughput_rows for cells in _rows(name, throughput)]
        caption = _caption([throughput for _, throughput in throughput_rows])
        yield from section(HEADING, (*names("case"), *map(Column, headings)), rows, caption)
    reasons: dict[str, list[str]] = {}
    for name, throughput in named_throughputs:
        if throughput.absent:
            reasons.setdefault(throughput.absent, []).append(name)
    for reason, case_names in reasons.items():
        yield Paragraph(f"no sum over hosts of {', '.join(case_names)}: {reason}")
    for name, throughput in throughput_rows:
        if throughput.exclusions:
            yield Paragraph(f"of {name}, {' and '.join(throughput.exclusions)}: not added")


def write_throughputs(folder: RunFolder, throughputs: Sequence[AggregateThroughput]) -> None:
    """`hosts.csv` in the run folder, where a case was timed on several hosts."""
    if throughputs:
        folder.write(HOSTS, hosts_csv(throughputs))


def names_of(throughputs: Sequence[AggregateThroughput]) -> list[str]:
    """Each case without its host, told apart from the others."""
    hostless_cases = [replace(throughput.case, host="") for throughput in throughputs]
    case_labels = labels(hostless_cases)
    return [case_labels[case.case_id] for case in hostless_cases]


def _caption(throughputs: Sequence[AggregateThroughput]) -> str:
    if all(throughput.interval for throughput in throughputs):
        return _CAPTION
    return f"{_CAPTION}; an interval takes {MINIMUM_ROUNDS} rounds"


def _rows(name: str, throughput: AggregateThroughput) -> Iterator[tuple[Cell | str, ...]]:
    """All of them, then each with its share of the work."""
    totals = (
        ratio_cell(throughput.speedup),
        share_cell(throughput.efficiency),
        Cell(_duration_text(throughput), throughput.seconds_for(MANY), unit="s"),
    )
    yield name, rate_cell(throughput.per_s), "", _interval_cell(throughput), *totals
    for host, rate, share in zip(
        throughput.hosts, throughput.rates, throughput.shares, strict=True
    ):
        yield f"  {host}", rate_cell(rate), share_cell(share), "", "", "", ""


def _interval_cell(throughput: AggregateThroughput) -> Cell:
    bounds = throughput.interval
    if bounds is None:
        return Cell("", unit="per_s")
    words = text.rate_interval(bounds.low, bounds.high)
    return Cell(words, unit="per_s", low=bounds.low, high=bounds.high)


def _duration_text(throughput: AggregateThroughput) -> str:
    """How long a million inputs take: to three digits where that is below a minute."""
    seconds = throughput.seconds_for(MANY)
    return text.time_text(seconds) if seconds < 60 else text.duration(seconds)


_SCALING_CAPTION = "efficiency is the speedup over the replicas, from pairs of rounds"


def scaling_tables(cases: Sequence[Case], rows: Sequence[Row], plan: Plan) -> Iterator[Block]:
    """One table of all cases that were measured alone too; where work is shared, as --replicas
    does, then why some have no efficiency. Nothing of a search over options, which varies sessions
    by itself."""
    if plan.tune:
        return
    scaled_rows = [row for row in rows if row["scaling_baseline_case_id"]]
    bases = {str(row["scaling_baseline_case_id"]) for row in scaled_rows}
    visible_rows = [
        row for row in rows if row["scaling_efficiency"] or str(row["case_id"]) in bases
    ]
    case_labels = labels(
        [case for case in cases if case.case_id in {str(r["case_id"]) for r in visible_rows}]
    )
    if any(row["scaling_efficiency"] for row in visible_rows):
        headings = ("replicas", "inputs/s", "speedup", "efficiency", "efficiency 95 %")
        cells = [_cells(case_labels, row) for row in visible_rows]
        columns = (*names("case"), *map(Column, headings))
        yield from section("scaling", columns, cells, _scaling_caption(visible_rows))
    if not any(sweep.replicas or SHARED_WORK in sweep.scenarios for sweep in plan.sweeps):
        return
    reasons = ((row["case_id"], row["scaling_missing_reason"]) for row in scaled_rows)
    for sentence in CaseSet(cases).by_reason(reasons):
        yield Paragraph(f"no efficiency of {sentence}")


def _scaling_caption(rows: Sequence[Row]) -> str:
    scaled_rows = [row for row in rows if row["scaling_efficiency"]]
    if any(row["scaling_efficiency_ci_low"] is None for row in scaled_rows):
        return f"{_SCALING_CAPTION}; an interval takes {MINIMUM_ROUNDS} rounds"
    return _SCALING_CAPTION


def _scaling_interval(low: float, high: float) -> str:
    return text.TOO_NOISY if text.is_too_noisy(low, high) else f"{low:.0%} to {high:.0%}"


def _cells(case_labels: dict[str, str], row: Row) -> tuple[Cell | str, ...]:
    replicas, rate, speedup, efficiency, low, high = (
        number_of(row[name])
        for name in (
            "replicas",
            "throughput_per_s",
            "speedup",
            "scaling_efficiency",
            "scaling_efficiency_ci_low",
            "scaling_efficiency_ci_high",
        )
    )
    interval_text = "" if low is None or high is None else _scaling_interval(low, high)
    return (
        case_labels[str(row["case_id"])],
        Cell(f"{replicas or 1:g}", replicas or 1),
        rate_cell(rate),
        Cell("" if speedup is None else text.significant(speedup), speedup),
        share_cell(efficiency),
        Cell(interval_text, low=low, high=high),
    )
