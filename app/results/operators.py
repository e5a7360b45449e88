"""`profiles/<case>.csv`: a case's operators, what each takes in one run, and its share of all."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.cases.columns import Row
from app.cases.errors import ResultsError
from app.cases.operators import OpProfile
from app.results.table import to_csv
from runtimes.execution import OpTime

PROFILES = "profiles"
COLUMNS = ("node", "op", "time_us", "share", "engine_name")


def profile_csv(profile: OpProfile) -> bytes:
    """The file's bytes: one line for each operator, in graph order, shares from 0 to 1."""
    total_us = profile.total_us
    rows: list[Row] = [
        {
            "node": op.node,
            "op": op.op,
            "time_us": op.time_us,
            "share": op.time_us / total_us if total_us else 0.0,
            "engine_name": op.engine_name,
        }
        for op in profile.ops
    ]
    return to_csv(rows, COLUMNS)


def read_profile(run: Path, line: Mapping[str, Any]) -> OpProfile:
    """The profile that a journal line tells of, with its operators; ResultsError without them."""
    facts = {name: line[name] for name in ("case_id", "clock", "runs", "reason")}
    name = line.get("profile")
    if not name:
        return OpProfile(**facts)
    path = run / PROFILES / name
    try:
        lines = list(csv.DictReader(path.read_text("utf-8").splitlines()))
        ops = tuple(
            OpTime(line["node"], line["op"], float(line["time_us"]), line["engine_name"])
            for line in lines
        )
    except (OSError, KeyError, ValueError) as error:
        raise ResultsError(f"{path} can't be read ({error})", "restore it, or remove it") from None
    return OpProfile(**facts, ops=ops)
