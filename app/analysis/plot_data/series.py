"""Series, the values that plots draw: one case of one run, and what distinguishes it.

Views draw series and know nothing of run folders; whoever follows a folder makes them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from app.analysis.comparison.judge import Sides, judge_pairs
from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.pairing import Pair
from app.analysis.comparison.published_figures import published_for
from app.cases.case import Case, identity_test
from app.cases.column import Blank
from app.cases.dimensions import GRID
from app.cases.round import latency_ns
from app.cases.status import Status
from app.formatting.case_labels import differences, model_names
from app.formatting.text import printable
from app.run_folder.telemetry import RoundTelemetry
from app.stats.summary import Summary
from runtimes.execution import Clock

Part = Literal["latency", "service", "queue"]


def part_ns(records: np.ndarray, part: Part, from_schedule: bool) -> np.ndarray:
    """Nanoseconds [n] of RECORD records: of the latency, which counts from when a run was due or
    from its start, of its service, or of its wait before that."""
    if part == "queue":
        wait_ns: np.ndarray = records["started_ns"] - records["scheduled_ns"]
        return wait_ns
    return latency_ns(records, part == "latency" and from_schedule)


Standing = Status | Literal["waiting", "measuring"]
"""How a case ended, or that it has not."""


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A figure that a source document prints for a model: a reference, never a result."""

    label: str
    statistic: str  # "mean" or "p99"
    value_us: float
    source: str


@dataclass(frozen=True, slots=True)
class Series:
    """One case: who it is, its histogram so far, its raw samples, and its row.

    `key` is the case's id in its run. `counts` are those of `app.stats.quantiles.Histogram`
    (measured samples only). `rounds` are `app.cases.round.RECORD` record arrays or memory maps, one
    per round, warm-up included and marked. `summary` is None while only bins are known: markers are
    then provisional. `row` is the case's row of results.csv, by column name, once there is one.
    `batch_axis` is the size in the case that the row calls the batch. `timed` are the numbers of
    the rounds that the summary is of, in its order, `cpu_mhz` is the mean clock in them. `found`
    is what capabilities have come to of the case, by their settings. `watched` is what was recorded
    beside each of `rounds`; `turn` is `Run.turn_of`. `damage` says what is broken of its files, ""
    for nothing that is known.
    """

    key: str
    case: Case
    label: str
    model: str
    runtime: str
    clock: Clock
    status: Standing
    counts: np.ndarray
    rounds: tuple[np.ndarray, ...] = ()
    summary: Summary | None = None
    published: tuple[ReferenceLine, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    batch_axis: str = "batch"
    timed: tuple[int, ...] = ()
    cpu_mhz: float | None = None
    watched: tuple[RoundTelemetry, ...] = ()
    found: Mapping[str, Any] = field(default_factory=dict)
    turn: str = ""
    damage: str = ""

    @property
    def measured(self) -> MeasuredCase:
        """The same as comparisons take it."""
        row = Blank({**self.row, "clock": self.clock})
        return MeasuredCase(self.case, row, self.summary, self.timed, self.cpu_mhz, self.turn)

    def has(self, part: Part) -> bool:
        """Whether its runs have this part: nothing queues unless runs are due at fixed times."""
        return part != "queue" or self.case.scenario.is_open_loop


def number(series: Series, column: str) -> float | None:
    """The column's value, None where it is empty or no number."""
    value = series.row.get(column)
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        figure = float(value)
    except (TypeError, ValueError):
        return None
    return figure if math.isfinite(figure) else None


@dataclass(frozen=True, slots=True)
class Quoted:
    """A latency of a row in microseconds, with the ends of its interval where it has one."""

    value_us: float
    low_us: float | None
    high_us: float | None


def quoted(series: Series, name: str) -> Quoted | None:
    """What a percentile or the mean of this name is, wherever it is shown: the row's figure.

    While the row is still to come, that of the summary from which it will be computed.
    """
    value = number(series, f"latency_{name}_us")
    ends = [number(series, f"latency_{name}_ci_{end}_us") for end in ("low", "high")]
    requests_in_each = series.case.scenario.kind == "ahead"  # its samples are of many runs each
    if series.summary is not None and not requests_in_each:
        interval = series.summary.interval_us(name)
        if value is None:
            value = series.summary.value_us(name)
        if None in ends and interval is not None:
            ends = [interval.low, interval.high]
    return None if value is None else Quoted(value, ends[0], ends[1])


def quoted_us(series: Series, name: str = "p50") -> float:
    """The same to sort by; infinite where there is none."""
    quote = quoted(series, name)
    return math.inf if quote is None else quote.value_us


def comparison_key(series: Series, varied_keys: Collection[str] = ()) -> tuple[object, ...]:
    """What two cases must share for one to be called faster: all but the runtime and its options.

    `varied_keys` are settings whose values are compared on purpose: `precision`, `host`.
    """
    row, case = series.row, series.case
    precision = None if "precision" in varied_keys else str(row.get("precision") or case.precision)
    host = None if "host" in varied_keys else row.get("host") or case.host
    rest = replace(case, runtime="", precision="fp32", options={}, suite="", host="")
    setup = (row.get("concurrency"), row.get("boundary"))
    return precision, series.clock, host, *setup, rest.case_id


def is_same_work(first: Series, other: Series) -> bool:
    """Whether a verdict between two cases is one between ways to do the same: of one model, its
    sizes, scenario, precision and clock."""
    return _work(first) == _work(other)


def _work(series: Series) -> tuple[object, ...]:
    case = series.case
    precision = str(series.row.get("precision") or case.precision)
    return case.model, dict(case.axes), str(case.scenario), precision, series.clock


def batch(series: Series) -> int | None:
    """The batch size, None for a model without one."""
    size = number(series, "batch_size")
    return None if size is None else int(size)


def ranked(series: Sequence[Series]) -> list[Series]:
    """Those whose figures may be compared: partial and wrong rows are shown, never ranked."""
    return [c for c in series if c.status == "ok" and not is_not_valid(c.row)]


def is_not_valid(row: Mapping[str, Any]) -> bool:
    """Of a row of this program, or of a CSV file, which has texts."""
    return str(row.get("valid", True)).lower() in ("false", "0")


def variants(series: Sequence[Series]) -> dict[str, str]:
    """By key, the runtime and whatever else but the batch differs among these series."""
    batches = {case_series.case.case_id: case_series.batch_axis for case_series in series}
    details = differences([case_series.case for case_series in series], exceptions=batches)
    return {c.key: " ".join([c.runtime, *details[c.case.case_id]]) for c in series}


def batches(series: Sequence[Series]) -> dict[str, str]:
    """The batch sizes among these, as keys and texts of a drop-down, smallest first."""
    sizes = sorted({size for case_series in series if (size := batch(case_series)) is not None})
    return {str(size): f"Batch {size}" for size in sizes}


def of_batch(series: Sequence[Series], size: str) -> list[Series]:
    """Those with this batch size; all if there is none to choose."""
    return [case_series for case_series in series if not size or str(batch(case_series)) == size]


def interval_columns(column: str) -> tuple[str, str]:
    """The columns of a figure's interval: its unit, such as `_us` or `_per_s`, stays at the end."""
    unit = "_per_s" if column.endswith("_per_s") else "_us"
    stem = column.removesuffix(unit)
    return f"{stem}_ci_low{unit}", f"{stem}_ci_high{unit}"


def facets(series: Sequence[Series]) -> dict[str, dict[str, str]]:
    """By name, what each case has of it, by its key; only what is not the same of all.

    What a case has not, as another model's size, is "".
    """
    models = model_names(case_series.case.model for case_series in series)
    facets_by_case = {c.key: _facets_of(c.case, models[c.case.model]) for c in series}
    names = dict.fromkeys(name for values in facets_by_case.values() for name in values)
    facets_by_name = {
        name: {key: texts.get(name, "") for key, texts in facets_by_case.items()} for name in names
    }
    return {name: texts for name, texts in facets_by_name.items() if len(set(texts.values())) > 1}


def _facets_of(case: Case, model: str) -> dict[str, str]:
    values = {"runtime": case.runtime, "model": model}
    values |= {row.name: " ".join(row.labels(case)) for row in GRID}
    values |= {"host": f"on {printable(case.host)}"} if case.host else {}
    values |= {name: f"{name} {size}" for name, size in sorted(case.axes.items())}
    return values | {name: f"{name}={value}" for name, value in sorted(case.options.items())}


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A case that all others are held against, `case_series`, or the cases of another run.

    Each is itself alone: arrays of samples are not compared. `key` is what it is known by,
    however it is named.
    """

    key: str
    name: str
    case_series: Series | None = None
    run_series: tuple[Series, ...] = ()

    @property
    def in_turn(self) -> bool:
        """Whether its rounds alternated with those of the cases: then they are pairs."""
        return self.case_series is not None

    def counterpart(self, series: Series) -> Series | None:
        """What this case is held against; None where nothing of its clock is there."""
        partner = self.case_series
        if partner is None:
            is_same = identity_test([(series.case, series.row.get("host"))])
            matches = (c for c in self.run_series if is_same(c.case, c.row.get("host")))
            partner = next(matches, None)
        if partner is None or (self.case_series is not None and partner.key == series.key):
            return None
        return partner if partner.clock == series.clock else None


def deltas(
    baseline: Baseline, series: Sequence[Series], band: float
) -> dict[str, Mapping[str, Sides]]:
    """By key the percentiles of each case beside the baseline's, all of them judged together.

    Nothing of a case that does other work: its ratio is no speed-up.
    """
    candidates = [*series, *baseline.run_series, *filter(None, [baseline.case_series])]
    ranked_ids = set(map(id, ranked(candidates)))
    pairs = [
        Pair(item.key, partner.measured, item.measured)
        for item in series
        if (partner := baseline.counterpart(item)) is not None
        and id(item) in ranked_ids
        and id(partner) in ranked_ids
        and is_same_work(item, partner)
    ]
    return {item.label: item.percentiles for item in judge_pairs(pairs, band, baseline.in_turn)}


def reference_figures(case: Case) -> tuple[ReferenceLine, ...]:
    """Mean and p99 of the same card where one is simulated, else the source's first mean.

    The sources measured at batch 1, so other batch sizes have none.
    """
    if case.axes.get("batch", 1) != 1:
        return ()
    return _figures(case.model, case.runtime.partition("@")[0])


@cache
def _figures(model: str, runtime: str) -> tuple[ReferenceLine, ...]:
    figures = [(figure, mean) for figure in published_for(model) if (mean := figure.mean_us)]
    matches = [pair for pair in figures if pair[0].runtime == runtime]
    lines = []
    for figure, mean_us in matches or figures[:1]:
        label = f"{model} on {figure.device} ({figure.conditions})"
        lines.append(ReferenceLine(label, "mean", mean_us, figure.source))
        if matches and figure.p99_us:
            lines.append(ReferenceLine(label, "p99", figure.p99_us, figure.source))
    return tuple(lines)
