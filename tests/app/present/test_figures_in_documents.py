"""A figure in a document: data for programs, a picture on a page, a table where it says so."""

from __future__ import annotations

import json
from dataclasses import replace

from app.present.document import Block, Details, Heading, Paragraph, Table, names
from app.present.figure import Axis, Figure, Mark, Series
from app.present.html import as_html
from app.present.json import csv_text, json_text
from app.present.markdown import as_markdown
from app.present.terminal import as_text

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


def test_without_pictures_it_is_a_table_where_it_says_so() -> None:
    blocks: list[Block] = [Paragraph("before"), FIGURE]
    assert as_text(blocks, 80) == "before\n"
    assert as_markdown(blocks) == "before\n"
    blocks[1] = replace(FIGURE, has_table=True)
    text = as_text(blocks, 120)
    assert all(word in text for word in ("ort-cpu", "10 µs", "9 µs", "12 µs", "1.5 ms"))
    lines = as_markdown(blocks).splitlines()
    assert sum(line.startswith("|") for line in lines) == 2 + 2, "headings and a row for each mark"


def test_on_a_page_it_is_drawn_for_two_widths_and_names_are_text() -> None:
    page = "".join(as_html([FIGURE]))
    assert page.count("<svg ") == 2
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
