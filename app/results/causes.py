"""Why rows are not well: each cause once, with all the cases that it ended.

Rows that are not valid are grouped by the codes of their errors, others by status and reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.cases.column import Row
from app.cases.status import WELL
from app.results.diagnostic_columns import diagnostics_of, text
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.diagnostics.groups import codes, grouped

NOT_VALID = "not valid"


@dataclass(frozen=True, slots=True)
class Cause:
    """`status` is what the rows are called, `reason` one sentence, `case_ids` whose it is; `codes`
    are those of the diagnostics that made rows invalid."""

    status: str
    reason: str
    case_ids: tuple[str, ...]
    codes: tuple[str, ...] = ()


def causes(rows: Iterable[Row]) -> list[Cause]:
    """The causes of all rows that are not well, or that broke their protocol, as they appear."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Row]] = {}
    for row in rows:
        status, reason = str(row["status"]), str(row["reason"] or "")
        key: tuple[str, str, tuple[str, ...]] = status, reason, ()
        if status in WELL:
            if row["valid"] is not False:
                continue
            error_codes = codes(_errors(row))
            key = NOT_VALID, "" if error_codes else reason, error_codes
        groups.setdefault(key, []).append(row)
    return [
        Cause(
            status,
            reason or _reason(members),
            tuple(str(row["case_id"]) for row in members),
            error_codes,
        )
        for (status, reason, error_codes), members in groups.items()
    ]


def _errors(row: Row) -> list[Diagnostic]:
    return [one for one in diagnostics_of(row) if one.severity == "error"]


def _reason(rows: Iterable[Row]) -> str:
    """The errors of these rows by their codes, with the ranges of their figures."""
    groups = grouped((str(row["case_id"]), _errors(row)) for row in rows)
    return " ".join(text(*group.diagnostics) for group in groups)
