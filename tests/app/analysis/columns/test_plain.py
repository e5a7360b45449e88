"""Names and messages of others steer no terminal, break no file, and stay readable."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.column import Row
from app.formatting.case_labels import case_label, labels, model_labels
from app.formatting.text import one_line, printable, storable
from app.run_folder.folder import RunFolder
from app.run_folder.table import read_rows, rows_of, to_csv, write_tables
from app.runs.exporting.tables import export_parquet
from app.runs.reader import read_run
from tests.app.hostile import formulas
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

NAMES = (
    "nets/plain.onnx",
    "nets/esc\x1b]0;pwned\x07.onnx",
    "nets/cr\rx.onnx",
    "nets/lines\n\x85\u2028x.onnx",
    "nets/bidi\u202egnp.onnx",
    'nets/a,"quoted".onnx',
    "=cmd|x.onnx",
    os.fsdecode(b"nets/bad\xff\xfe.onnx"),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe 模型 🙂 [bold]", "Größe 模型 🙂 [bold]"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\r\nb\u202e", r"a\r\nb\u202e"),
        (os.fsdecode(b"\xff\xfe"), r"\xff\xfe"),
    ],
)
def test_a_terminal_gets_nothing_that_steers_it(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_message_in_several_lines_is_one(text: str = "it failed\n\tin 'a\x1b'\r\n") -> None:
    assert one_line(text) == r"it failed in 'a\x1b'"


@pytest.mark.parametrize(
    "begun",
    ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", " =", "'=", "''-", "\n @", "x;=", "x\t@"],
)
def test_a_spreadsheet_runs_no_text_and_numbers_stay_numbers(begun: str) -> None:
    rows: list[Row] = [{"case_id": "a", "model": f"{begun}1+1", "latency_p50_us": -1.5}]
    content = to_csv(rows, ("case_id", "model", "latency_p50_us"))
    assert not formulas(content)
    assert b",-1.5" in content
    assert rows_of(content.decode())["a"] == rows[0], "and is read back as it was"


@given(st.text(st.characters()))
def test_whatever_a_name_is_it_can_be_shown_and_stored(text: str) -> None:
    assert printable(text).isprintable()
    printable(text).encode("utf-8")
    storable(text).encode("utf-8")
    if "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text):
        assert storable(text) == text, "what UTF-8 can carry is kept as it is"


@given(st.lists(st.text(st.characters()), max_size=5))
def test_a_csv_has_a_row_for_each_row_whatever_its_texts_are(texts: list[str]) -> None:
    rows: list[Row] = [{"model": text, "reason": text} for text in texts]
    content = to_csv(rows, ("model", "reason")).decode("utf-8")
    _, *read = csv.reader(io.StringIO(content, newline=""))
    assert len(read) == len(rows)
    for text, (model, reason) in zip(texts, read, strict=True):
        assert model == reason
        assert model.removeprefix("'") == storable(text).removeprefix("'")


def test_a_run_of_such_names_is_written_read_back_and_told(tmp_path: Path) -> None:
    cases = [Case(name, "fake") for name in NAMES]
    with RunFolder.create(tmp_path / "run", manifest_of(cases)) as folder:
        folder.begin(ENVIRONMENT)
        for case in cases:
            record(folder, case, 0, [20.0] * 30)
        rows = Rows().of(read_run(folder.path))
        write_tables(folder, rows)
    run = read_run(tmp_path / "run")
    assert [case.model for case in run.manifest.cases] == list(NAMES), "the manifest has all"
    back = read_rows(tmp_path / "run" / "results.full.csv")
    assert [row["model"] for row in back.values()] == [storable(name) for name in NAMES]
    assert len(pd.read_csv(tmp_path / "run" / "results.full.csv")) == len(NAMES)
    results, _ = export_parquet(run, Rows().of(run))
    assert pd.read_parquet(results)["model"].tolist() == [storable(name) for name in NAMES]
    texts = [*labels(cases).values(), *model_labels(NAMES).values(), *map(case_label, cases)]
    assert all(label.isprintable() for label in texts)
    assert len(set(model_labels(NAMES).values())) == len(NAMES)
