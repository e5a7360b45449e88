"""`results.csv` read back as typed rows: what the batch process has computed already."""

from __future__ import annotations

import csv
from pathlib import Path

from app.cases.columns import Row, Value

_TEXT_NAMES = """
graphlap_version run_id case_id host started_at_utc suite model family model_sha256 runtime
runtime_version execution_provider device device_name precision_asked precision axes options
scenario wait_policy clock call_path boundary fidelity stop_reason throttle reference
status reason warnings
"""
_TEXTS = frozenset(_TEXT_NAMES.split())
_BOOLEANS = {"true": True, "false": False}


def read_rows(path: Path) -> dict[str, Row]:
    """Case id -> row; empty if there is no readable file, which is then no fault."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    rows = csv.DictReader(text.splitlines(keepends=True))
    if "case_id" not in (rows.fieldnames or ()):
        return {}
    return {
        row["case_id"]: {name: _value(name, cell or "") for name, cell in row.items() if name}
        for row in rows
    }


def _value(name: str, cell: str) -> Value:
    if cell == "":
        return None
    if name in _TEXTS:
        return cell.removeprefix("'") if cell[1:2] in ("=", "+", "-", "@", "\t", "\r") else cell
    if cell in _BOOLEANS:
        return _BOOLEANS[cell]
    try:
        return int(cell)
    except ValueError:
        pass
    try:
        return float(cell)
    except ValueError:
        return cell
