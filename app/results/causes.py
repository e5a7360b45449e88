"""Why rows are not well: each cause once, with all the cases that it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.cases.column import Row
from app.cases.status import WELL


@dataclass(frozen=True, slots=True)
class Cause:
    """`status` is what the rows are called, `reason` one sentence, `case_ids` whose it is."""

    status: str
    reason: str
    case_ids: tuple[str, ...]


def causes(rows: Iterable[Row]) -> list[Cause]:
    """The causes of all rows that are not well, or that broke their protocol, as they appear."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        status, reason = str(row["status"]), str(row["reason"] or "")
        if status in WELL:
            if row["valid"] is not False:
                continue
            status, reason = "not valid", reason or str(row["warnings"] or "")
        found.setdefault((status, reason), []).append(str(row["case_id"]))
    return [Cause(status, reason, tuple(ids)) for (status, reason), ids in found.items()]
