"""Names and messages of others steer no terminal, break no file, and stay readable."""

from __future__ import annotations

import csv
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.columns.tables import rows_of
from app.cases.column import Row
from app.formatting.text import printable, storable
from app.run_folder.table import to_csv
from tests.app.hostile import formulas


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


@pytest.mark.parametrize("begun", ["=", "\t", "\n", "\uff1d", " =", "'=", "''-", "x;=", "x\t@"])
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
