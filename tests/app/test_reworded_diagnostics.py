"""Nothing depends on how diagnostics are worded: with other sentences all else stays the same."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Any
from xml.etree import ElementTree

import pytest

from app.__main__ import main
from app.analysis.columns import rows
from app.analysis.columns.rows import Rows
from app.analysis.insights.quality import causes
from app.cases.case import Case
from app.cases.round import OpenLoop
from app.cases.scenario import Scenario
from app.gui.tables.columns import Term
from app.present.console.regression_gate import as_junit
from app.present.console.run_summary import row_marks
from app.present.console.verdicts import as_json
from app.run_folder.diagnostics import (
    CODES,
    DIAGNOSTICS,
    WARNINGS,
    codes_in,
    diagnostics_of,
    warning_groups,
)
from app.run_folder.folder import RunFolder
from app.runs.history.run_comparison import compare_runs, side_of
from app.runs.reader import read_run
from exporters import diagnostics as catalogue
from exporters.diagnostics import Entry, diagnostic
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

FEW = replace(CASE, threads=2)
BUSY = replace(CASE, threads=3)
LOADED = Case("add.onnx", "fake", scenario=Scenario.parse("rate:1000/s"))
OVERLOADED = OpenLoop("a" * 64, due=2000, left=1500, seconds=2.0, utilisation=4.0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Rows with warnings of rounds, of statistics and of load, and one that lacks a round."""
    path = tmp_path / "run"
    with RunFolder.create(path, manifest_of((CASE, FEW, BUSY, LOADED), 4)) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(4):
            level = 100.0 * (1 + number / 10)
            record(folder, CASE, number, [level] * 600)
            warning = diagnostic("cpu_oversubscribed", load_1min=5.0 + number, cores=2)
            record(folder, BUSY, number, [level] * 600, warnings=(warning,))
            record(folder, LOADED, number, [level] * 600, open_loop=OVERLOADED)
        record(folder, FEW, 0, [100.0] * 3)
    return path


def reworded(entry: Entry, draw: random.Random) -> Entry:
    """The entry in words drawn at random, with the punctuation that sentences were split at."""

    def words(template: str) -> str:
        fields = [f"{{{name}}}" for _, name, _, _ in Formatter().parse(template) if name]
        random_parts = ["".join(draw.choices("abcxyz;: .", k=draw.randint(1, 9))) for _ in range(7)]
        draw.shuffle(parts := [*fields, *random_parts, "; ", ": ", " 9 to 12 "])
        return "".join(parts) if template else ""

    return replace(
        entry,
        title=words(entry.title),
        message=words(entry.message),
        action=words(entry.action),
    )


def observed(path: Path) -> dict[str, Any]:
    """All that programs read of a run: rows, groups, filters, exports, comparison and gate."""
    stored_run = read_run(path)
    rows_measured = Rows().measured(stored_run)
    rows = [entry.row for entry in rows_measured]
    texts = (WARNINGS, "reason", "ci_missing_reason")
    comparison = compare_runs(side_of(stored_run), side_of(stored_run))
    assert main(["export", "-f", "csv,json,markdown", str(path)]) == 0
    json_rows = json.loads((path / "results.json").read_text("utf-8"))["rows"]
    term = Term(CODES, ":", "rounds_differ")
    junit = ElementTree.fromstring(as_junit(comparison, gate="slower"))
    return {
        "rows": [{k: v for k, v in row.items() if k not in texts} for row in rows],
        "diagnostics": [diagnostics_of(row) for row in rows],
        "groups": [(entry.code, entry.case_ids) for entry in warning_groups(rows)],
        "causes": [(entry.status, entry.codes, entry.case_ids) for entry in causes(rows)],
        "marks": row_marks(warning_groups(rows)),
        "filter": [term.fits(row[CODES]) for row in rows],
        "json": [[(d["code"], d["parameters"]) for d in row[DIAGNOSTICS]] for row in json_rows],
        "verify": main(["verify", str(path)]),
        "gate": as_json(comparison, gate="slower")["gate"]["exit_code"],
        "junit": [entry.attrib for entry in junit.iter("property")],
    }


def test_other_words_change_nothing_but_words(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = observed(run)
    found = {code for row in expected["rows"] for code in codes_in(row[CODES])}
    compared = {"rounds_differ", "cpu_oversubscribed", "overloaded", "rounds_missing", "few_runs"}
    assert compared <= found and expected["junit"]
    assert ("not valid", ("overloaded",)) in [(s, c) for s, c, _ in expected["causes"]]
    assert {*expected["filter"]} == {True, False}
    texts = [row[WARNINGS] for row in Rows().of(read_run(run))]
    draw = random.Random(1)
    entries = {key: reworded(entry, draw) for key, entry in catalogue.entries().items()}
    monkeypatch.setattr(catalogue, "entries", partial(dict, entries))
    # Other words are another program, for which no stored row holds.
    monkeypatch.setattr(rows, "program", lambda: "reworded")
    assert observed(run) == expected
    assert [row[WARNINGS] for row in Rows().of(read_run(run))] != texts, "they were reworded"
