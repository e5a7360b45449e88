"""`python -m app.runs.following.summary_worker DIR`: rows and summaries, off the window's process.

Reads lines of case ids from standard input, answers a JSON line for each id, and ends with
its input. It yields its core to everything else, to a measurement above all.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.analysis.columns.rows import Rows
from app.cases.errors import ResultsError
from app.run_folder.diagnostics import diagnostic_columns
from app.run_folder.run import Run
from app.runs.reader import JournalReader, drop_damaged_rounds
from exporters.codec import to_json
from exporters.diagnostics import diagnostic


def main() -> int:
    """One answer for each asked case, until the input ends."""
    os.nice(19)
    try:
        reader = JournalReader(Path(sys.argv[1]))
        for line in sys.stdin:
            reader.poll()
            for answer in _answers(reader.ledger.run, json.loads(line)):
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
    except (ResultsError, BrokenPipeError):
        return 1  # the window reads the same folder and tells what is wrong with it
    return 0


def _answers(run: Run, case_ids: list[str]) -> Iterator[dict[str, Any]]:
    cases = {case.case_id: case for case in run.cases}
    for case in (cases[case_id] for case_id in case_ids if case_id in cases):
        answer: dict[str, Any] = {"case_id": case.case_id, "row": {}, "summary": None}
        try:
            rows = Rows()
            alone = replace(
                run,
                manifest=replace(run.manifest, cases=(case,)),
                tried=(),
                rounds={case.case_id: run.rounds.get(case.case_id, {})},
            )
            alone = drop_damaged_rounds(alone)
            answer["row"] = rows.of(alone)[0]
            summary = rows.summary(alone, case)
            answer["summary"] = to_json(summary) if summary else None
        except ResultsError as error:
            unreadable = diagnostic("row_unreadable", error=str(error))
            answer["row"] = diagnostic_columns([unreadable])
        yield answer


if __name__ == "__main__":
    sys.exit(main())
