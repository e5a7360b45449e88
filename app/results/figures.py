"""What result views read from a series' row: numbers, and what sets it apart from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.results.labels import differences
from app.results.series import Series


def number(series: Series, column: str) -> float | None:
    """The column's value, None where it is empty or no number."""
    value = series.row.get(column)
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


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


def comparison_key(series: Series, *, over_precision: bool = False) -> tuple[object, ...]:
    """What two cases must share for one to be called faster: all but the runtime and its options.

    `over_precision`: cases of several precisions are compared on purpose.
    """
    row, case = series.row, series.case
    precision = None if over_precision else str(row.get("precision") or case.precision)
    measured = (row.get("concurrency"), row.get("boundary"), row.get("host") or case.host)
    rest = replace(case, runtime="", precision="fp32", options={}, suite="")
    return precision, series.clock, *measured, rest.identity_id


def is_same_work(one: Series, other: Series) -> bool:
    """Whether a verdict between two cases is one between ways to do the same: of one model, its
    sizes, scenario, precision and clock."""
    return _work(one) == _work(other)


def _work(series: Series) -> tuple[object, ...]:
    case = series.case
    precision = str(series.row.get("precision") or case.precision)
    return case.model, dict(case.axes), str(case.scenario), precision, series.clock


def batch(series: Series) -> int | None:
    """The batch size, None for a model without one."""
    found = number(series, "batch_size")
    return None if found is None else int(found)


def ranked(series: Sequence[Series]) -> list[Series]:
    """Those whose figures may be compared: partial and wrong rows are shown, never ranked."""
    return [one for one in series if one.status == "ok" and _is_valid(one)]


def _is_valid(series: Series) -> bool:
    return str(series.row.get("valid", True)).lower() not in ("false", "0")


def variants(series: Sequence[Series]) -> dict[str, str]:
    """By key, the runtime and whatever else but the batch differs among these series."""
    batches = {one.case.case_id: one.batch_axis for one in series}
    apart = differences([one.case for one in series], but=batches)
    return {one.key: " ".join([one.runtime, *apart[one.case.case_id]]) for one in series}


def batches(series: Sequence[Series]) -> dict[str, str]:
    """The batch sizes among these, as keys and texts of a drop-down, smallest first."""
    sizes = sorted({size for one in series if (size := batch(one)) is not None})
    return {str(size): f"Batch {size}" for size in sizes}


def of_batch(series: Sequence[Series], size: str) -> list[Series]:
    """Those with this batch size; all if there is none to choose."""
    return [one for one in series if not size or str(batch(one)) == size]


def interval_columns(column: str) -> tuple[str, str]:
    """The columns of a figure's interval: its unit, such as `_us` or `_per_s`, stays at the end."""
    unit = "_per_s" if column.endswith("_per_s") else "_us"
    stem = column.removesuffix(unit)
    return f"{stem}_ci_low{unit}", f"{stem}_ci_high{unit}"
