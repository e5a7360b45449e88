"""The columns of a row's diagnostics: sentences, codes, and the diagnostics themselves as JSON.

Readers of a row take its diagnostics from the last, so that no sentence is taken apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from app.cases.column import Row, Value
from app.results import legacy_messages
from app.results.plain import one_line
from exporters.codec import CodecError, from_json, to_brief_json
from exporters.diagnostics import rendering
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.diagnostics.groups import DiagnosticGroup, codes, distinct, grouped

BETWEEN_CODES = ";"
WARNINGS, CODES, DIAGNOSTICS = "warnings", "warning_codes", "diagnostics"


def text(*diagnostics: Diagnostic) -> str:
    """Message and action of one, or of several of one code, as text that is safe to show."""
    return one_line(rendering.text(*diagnostics))


def diagnostic_columns(diagnostics: Iterable[Diagnostic]) -> Row:
    """The columns of these, each once; all empty where there is none."""
    kept = distinct(diagnostics)
    if not kept:
        return {WARNINGS: None, CODES: None, DIAGNOSTICS: None}
    return {
        WARNINGS: " ".join(map(text, kept)),
        CODES: BETWEEN_CODES.join(codes(kept)),
        DIAGNOSTICS: json.dumps([to_brief_json(one) for one in kept]),
    }


def diagnostics_of(row: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    """Those that the row was made with; of a row of an earlier version what its warnings say."""
    cell = row.get(DIAGNOSTICS)
    if cell:
        return _read(str(cell))
    return legacy_messages.of_cell(row.get(WARNINGS))


def warning_groups(rows: Iterable[Mapping[str, Any]]) -> list[DiagnosticGroup]:
    """The diagnostics of these rows by code, in order of appearance."""
    return grouped((str(row["case_id"]), diagnostics_of(row)) for row in rows)


@lru_cache(maxsize=4096)
def _read(cell: str) -> tuple[Diagnostic, ...]:
    """A cell that is damaged has none; its row still shows the warnings."""
    try:
        return tuple(from_json(Diagnostic, one, finite=True) for one in json.loads(cell))
    except (CodecError, ValueError, TypeError, RecursionError):
        return ()


def codes_in(cell: Value) -> tuple[str, ...]:
    """The codes in a cell of `warning_codes`."""
    return tuple(str(cell).split(BETWEEN_CODES)) if cell else ()
