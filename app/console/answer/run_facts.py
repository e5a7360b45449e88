"""A run for programs: the object `run` of what `-f json` prints, with its rows and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.cases.column_names import column
from app.cases.columns import MAIN
from app.console.answer.summary import RunResult
from app.console.row_table import shown_percentiles
from app.console.run_summary import verdict_text
from app.runs.exporting.json_file import row_values


def run_facts(result: RunResult, exit_reason: tuple[int, str] | None = None) -> dict[str, Any]:
    """Folder (null of several, which `folders` lists), exit code and reason in a word (null of a
    stored run), units, a row for each case, the fastest of those alike, and the comparison that was
    asked for.

    Stable keys: what is added later is a new key. Columns are those of results.csv and the chosen
    percentiles.
    """
    run = result.run
    percentiles = shown_percentiles(result.plan.percentiles)
    names = tuple(dict.fromkeys((*MAIN, *(f"latency_{name}_us" for name in percentiles))))
    code, reason = exit_reason or (None, None)
    definitions = {name: column(name) for name in names}
    return {
        "run": {
            "folder": None if run.parts else str(run.path.absolute()),
            "folders": [str(path.absolute()) for path in run.paths],
            "run_id": run.manifest.run_id,
            "name": run.manifest.name,
            "is_live": result.is_live,
            "exit_code": code,
            "exit_reason": reason,
            "units": {name: one.unit for name, one in definitions.items() if one and one.unit},
            "rows": [row_values(row, names) for row in result.rows],
            "verdicts": list(_verdicts(result)),
            "comparison": dict(result.compared.facts) if result.compared is not None else None,
        }
    }


def _verdicts(result: RunResult) -> Iterator[dict[str, Any]]:
    for contest in result.contests:
        interval = contest.verdict.interval
        yield {
            "what": contest.label,
            "first": contest.first,
            "second": contest.second,
            "case_ids": list(contest.case_ids),
            "times": contest.times,
            "times_ci_low": interval.low if interval is not None else None,
            "times_ci_high": interval.high if interval is not None else None,
            "verdict": contest.word,
            "simulated": contest.simulated,
            "sentence": verdict_text(contest, result.plan.band),
        }
