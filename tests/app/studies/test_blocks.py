"""One structure, printed and written: hostile names harm neither, and a terminal may be narrow."""

from __future__ import annotations

import io

from rich.console import Console

from app.studies.blocks import (
    Block,
    Column,
    Command,
    Heading,
    Paragraph,
    Picture,
    Points,
    Table,
    within,
)
from app.studies.markdown import as_markdown
from app.studies.printed import as_printed

HOSTILE = "<b>|*name*\n\x1b[31m"


def printed(*blocks: Block, width: int) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, markup=False, emoji=False, highlight=False)
    for part in as_printed(blocks, width):
        console.print(part)
    return out.getvalue()


def test_every_block_as_markdown() -> None:
    table = Table((Column("model", is_name=True), Column("p50", "ort")), (("a_b", "2 µs"),))
    told = as_markdown(
        [
            Heading("One", 1),
            Paragraph("Two."),
            Points(("three", "four")),
            Points(()),
            table,
            Command("graphlap --list"),
        ]
    )
    assert told == (
        "# One\n\nTwo.\n\n- three\n- four\n\n"
        "| model | ort p50 |\n| --- | ---: |\n| a\\_b | 2 µs |\n\n"
        "```\ngraphlap --list\n```\n"
    )


def test_a_hostile_name_stays_in_its_cell() -> None:
    table = Table((Column("model", is_name=True),), ((HOSTILE,),))
    (line,) = as_markdown([table]).splitlines()[2:]
    assert line.count("|") - line.count("\\|") == 2
    assert "\\<b\\>" in line
    assert "\x1b" not in line + printed(table, Paragraph(HOSTILE), Points((HOSTILE,)), width=40)


def test_a_table_that_does_not_fit_is_told_group_by_group() -> None:
    columns = [Column("model", is_name=True)]
    columns += [Column(name, group) for group in ("left", "right") for name in ("mean", "p99")]
    table = Table(tuple(columns), (("cnn", "1.11", "2.22", "3.33", "4.44"),))
    wide, narrow = printed(table, width=80), printed(table, width=24)
    assert (wide.count("cnn"), narrow.count("cnn")) == (1, 2)
    for cell in ("1.11", "2.22", "3.33", "4.44"):
        assert narrow.count(cell) == 1
    assert max(map(len, narrow.splitlines())) <= 24


def test_a_picture_is_a_link_that_no_name_breaks() -> None:
    picture = Picture("a b(1).svg", "one [over] two")
    assert as_markdown([picture]) == "![one \\[over\\] two](a%20b%281%29.svg)\n"
    assert printed(picture, width=80).strip() == "picture: a b(1).svg, one [over] two"


def test_a_part_of_a_whole_stands_a_level_deeper_and_has_its_pictures_in_its_folder() -> None:
    blocks: list[Block] = [Heading("One", 1), Paragraph("Two."), Picture("p.svg", "it")]
    assert [within(block, "part") for block in blocks] == [
        Heading("One", 2),
        Paragraph("Two."),
        Picture("part/p.svg", "it"),
    ]
