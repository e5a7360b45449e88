"""A document for other programs: JSON of every block with values and units, CSV of its main
table."""

from __future__ import annotations

import csv
import io
import json

import pytest

from app.cases.errors import PlanError
from app.present.document import (
    Cell,
    Column,
    Command,
    Heading,
    Note,
    Paragraph,
    Picture,
    Points,
    Table,
)
from app.present.json import csv_text, json_text

RESULTS = Table(
    (Column("model", is_name=True), Column("ort-cpu"), Column("ort-cpu")),
    (
        ("=mlp", Cell("16.5 µs*", 16.5, "ok", "us"), Cell("failed ", tone="error")),
        ("gru", Cell("20 µs ", 20.0, unit="us"), Cell("?", float("nan"), unit="us")),
    ),
    "fastest is marked",
    is_main=True,
)
SMALL = Table((Column("share", unit="%"),), ((Cell("5", 5),),))


def test_every_block_has_a_type_and_its_own_fields() -> None:
    blocks = json.loads(
        json_text(
            [
                Heading("One", 1),
                Paragraph("warnings in 2 cases", counts=(("drift", 2),)),
                Points(("a", "b")),
                Note("out of memory", "net on ort", "error", "out_of_memory"),
                Command("graphlap --list", "all models"),
                Picture("a.svg", "a curve"),
            ]
        )
    )["blocks"]
    assert [block["type"] for block in blocks] == [
        "heading",
        "paragraph",
        "list",
        "note",
        "command",
        "picture",
    ]
    assert blocks[1]["diagnostics"] == [{"code": "drift", "cases": 2}]
    assert blocks[3]["code"] == "out_of_memory"


def test_numbers_are_values_with_units_and_what_has_none_is_null() -> None:
    (table,) = json.loads(json_text([RESULTS]))["blocks"]
    assert [column["key"] for column in table["columns"]] == ["model", "ort-cpu", "ort-cpu 2"]
    first, second = table["rows"]
    assert first["model"] == "=mlp"
    assert (first["ort-cpu"]["value"], first["ort-cpu"]["unit"]) == (16.5, "us")
    assert first["ort-cpu 2"]["value"] is None
    assert first["ort-cpu 2"]["text"] == "failed"
    assert second["ort-cpu 2"]["value"] is None, "JSON has no NaN"


def test_text_that_is_no_unicode_is_still_json() -> None:
    (block,) = json.loads(json_text([Paragraph("net\udcff.onnx")]))["blocks"]
    assert block["text"] == "net\udcff.onnx"


def test_csv_is_the_main_table_with_units_in_its_header() -> None:
    lines = list(csv.reader(io.StringIO(csv_text([SMALL, RESULTS]))))
    assert lines == [
        ["model", "ort-cpu (us)", "ort-cpu 2 (us)"],
        ["'=mlp", "16.5", "failed"],
        ["gru", "20.0", ""],
    ], "and a name is no formula of a spreadsheet"
    assert csv_text([SMALL]) == "share (%)\n5\n", "without a main one the first"


def test_a_document_without_a_table_has_no_csv() -> None:
    with pytest.raises(PlanError):
        csv_text([Paragraph("nothing was measured")])
