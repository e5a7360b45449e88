"""A document for other programs: every block and figure with values and units."""

from __future__ import annotations

import csv
import io
import json

import pytest

from app.cases.errors import PlanError
from app.present.document import (
    Block,
    Cell,
    Column,
    Command,
    Details,
    Heading,
    Note,
    Paragraph,
    Picture,
    Points,
    Table,
    names,
)
from app.present.figure import Axis, Figure, Mark, Series
from app.present.html import as_html
from app.present.json import csv_text, json_text
from app.present.terminal import as_markdown, as_text

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
                Paragraph("net\udcff.onnx"),
            ]
        )
    )["blocks"]
    types = ["heading", "paragraph", "list", "note", "command", "picture", "paragraph"]
    assert [block["type"] for block in blocks] == types
    assert blocks[6]["text"] == "net\udcff.onnx", "no Unicode and still JSON"
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


def test_csv_is_the_main_table_with_units_in_its_header() -> None:
    lines = list(csv.reader(io.StringIO(csv_text([SMALL, RESULTS]))))
    assert lines == [
        ["model", "ort-cpu (us)", "ort-cpu 2 (us)"],
        ["'=mlp", "16.5", "failed"],
        ["gru", "20.0", ""],
    ], "and a name is no formula of a spreadsheet"
    assert csv_text([SMALL]) == "share (%)\n5\n", "without a main one the first"
    with pytest.raises(PlanError):
        csv_text([Paragraph("nothing was measured")])


HOSTILE = "<img src=x onerror=alert(1)>"


FIGURE = Figure(
    "Latency",
    Axis("latency", "us", "log"),
    Axis("case", names=("fast", HOSTILE)),
    (
        Series("ort-cpu", (Mark(10.0, 0, low=9.0, high=12.0),), cases=("a",)),
        Series("torch-cpu", (Mark(1500.0, 1),), cases=("b",)),
    ),
)


FOLDED = Details("More", (Paragraph("inside"), Table(names("model"), (("mlp",),), is_main=True)))


def test_in_json_a_figure_is_its_data() -> None:
    (figure,) = json.loads(json_text([FIGURE]))["blocks"]
    assert figure["type"] == "figure"
    assert figure["x"]["unit"] == "us" and figure["x"]["scale"] == "log"
    first, second = (series["marks"][0] for series in figure["series"])
    assert (first["x"], first["low"], first["high"]) == (10.0, 9.0, 12.0)
    assert (second["x"], second["low"]) == (1500.0, None)
    assert figure["series"][0]["cases"] == ["a"]
    blocks: list[Block] = [Paragraph("before"), FIGURE]
    assert as_text(blocks, 80) == as_markdown(blocks) == "before\n", "where there are no pictures"
    page = "".join(as_html([FIGURE]))
    assert page.count("<svg ") == 2, "for two widths"
    assert "<img" not in page and "&lt;img" in page


def test_details_are_folded_on_a_page_and_whole_elsewhere() -> None:
    page = "".join(as_html([FOLDED]))
    assert page.startswith("<details><summary>More</summary>") and "inside" in page
    assert as_text([FOLDED], 80).splitlines()[:2] == ["More", "inside"]
    assert as_markdown([FOLDED]).startswith("## More\n\ninside\n")
    (block,) = json.loads(json_text([FOLDED]))["blocks"]
    assert [inner["type"] for inner in block["blocks"]] == ["paragraph", "table"]
    other = Table(names("other"), (("x",),))
    assert csv_text([Heading("One", 1), other, FOLDED]) == "model\nmlp\n"
