"""What result views read from a series' row: numbers, and what sets it apart from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
