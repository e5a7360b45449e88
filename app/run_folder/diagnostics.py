"""Diagnostics as a run folder stores them: columns of a row.

Readers of a row take its diagnostics from the JSON column, so that no sentence is taken apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from app.cases.column import Row, Value
from app.formatting.text import one_line
from exporters import diagnostics as catalogue
from exporters.codec import CodecError, from_json, to_brief_json
from exporters.diagnostics import (
    Diagnostic,
    DiagnosticGroup,
    codes,
    distinct,
    grouped,
)

BETWEEN_CODES = ";"
WARNINGS, CODES, DIAGNOSTICS = "warnings", "warning_codes", "diagnostics"


def text(*diagnostics: Diagnostic) -> str:
    """Message and action of one, or of several of one code, as text that is safe to show."""
    return one_line(catalogue.text(*diagnostics))


def text_by_code(diagnostics: Iterable[Diagnostic]) -> str:
    """A sentence for each code, with the figures of all that have it."""
    return " ".join(text(*group.diagnostics) for group in grouped([("", diagnostics)]))


def diagnostic_columns(diagnostics: Iterable[Diagnostic]) -> Row:
    """The columns of these, each once; all empty where there is none."""
    entries = distinct(diagnostics)
    if not entries:
        return {WARNINGS: None, CODES: None, DIAGNOSTICS: None}
    return {
        WARNINGS: text_by_code(entries),
        CODES: BETWEEN_CODES.join(codes(entries)),
        DIAGNOSTICS: json.dumps([to_brief_json(entry) for entry in entries]),
    }


def diagnostics_of(row: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    """Those that the row was made with."""
    cell = row.get(DIAGNOSTICS)
    return _read(str(cell)) if cell else ()


def warning_groups(rows: Iterable[Mapping[str, Any]]) -> list[DiagnosticGroup]:
    """The diagnostics of these rows by code, in order of appearance."""
    return grouped((str(row["case_id"]), diagnostics_of(row)) for row in rows)


@lru_cache(maxsize=4096)
def _read(cell: str) -> tuple[Diagnostic, ...]:
    """A cell that is damaged has none; its row still shows the warnings."""
    try:
        return tuple(from_json(Diagnostic, item, finite=True) for item in json.loads(cell))
    except (CodecError, ValueError, TypeError, RecursionError):
        return ()


def codes_in(cell: Value) -> tuple[str, ...]:
    """The codes in a cell of `warning_codes`."""
    return tuple(str(cell).split(BETWEEN_CODES)) if cell else ()
