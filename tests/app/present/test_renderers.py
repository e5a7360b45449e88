"""A document in every form: hostile names harm none, and nothing is cut silently."""

from __future__ import annotations

import io

from app.present.document import (
    Block,
    Column,
    Command,
    Heading,
    Note,
    Paragraph,
    Picture,
    Points,
    Table,
    names,
    nest,
)
from app.present.markdown import as_markdown
from app.present.terminal import as_text, width_of_text, write_document

HOSTILE = "<b>|*name*\n\x1b[31m"


def printed(*blocks: Block, width: int) -> str:
    return as_text(blocks, width)


def test_every_block_as_markdown() -> None:
    table = Table((Column("model", is_name=True), Column("p50", "ort")), (("a_b", "2 µs"),))
    text = as_markdown(
        [
            Heading("One", 1),
            Paragraph("Two."),
            Points(("three", "four")),
            Points(()),
            table,
            Command("graphlap --list"),
        ]
    )
    assert text == (
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


def test_a_table_that_is_too_wide_loses_as_few_columns_as_possible() -> None:
    columns = [Column("part", is_name=True)]
    columns += [Column(name, priority=1) for name in ("aaaa", "bbbb", "cccc", "dddd")]
    table = Table(tuple(columns), (("start", "1.11", "2.22", "3.33", "4.44"),))
    lines = printed(table, width=26).splitlines()
    assert lines[0].split() == ["part", "aaaa", "bbbb", "cccc"]
    assert "dddd" in " ".join(lines[3:])


def test_a_picture_is_a_link_that_no_name_breaks() -> None:
    picture = Picture("a b(1).svg", "one [over] two")
    assert as_markdown([picture]) == "![one \\[over\\] two](a%20b%281%29.svg)\n"
    assert printed(picture, width=80).strip() == "picture: a b(1).svg, one [over] two"


def test_a_part_of_a_whole_stands_a_level_deeper_and_has_its_pictures_in_its_folder() -> None:
    blocks: list[Block] = [Heading("One", 1), Paragraph("Two."), Picture("p.svg", "it")]
    assert [nest(block, "part") for block in blocks] == [
        Heading("One", 2),
        Paragraph("Two."),
        Picture("part/p.svg", "it"),
    ]


def test_columns_of_the_highest_priority_go_first_and_are_named() -> None:
    columns = (Column("model", is_name=True), Column("p50"), Column("mean", priority=1))
    wide_table = Table(columns, (("cnn", "1.11 us", "2.22 us"),), full_table="results.csv")
    wide, narrow = printed(wide_table, width=40), printed(wide_table, width=18)
    assert "2.22 us" in wide and "no room" not in wide
    assert "2.22 us" not in narrow and "1.11 us" in narrow
    assert "mean:" in " ".join(narrow.split())


def test_rows_beyond_the_most_are_counted_on_a_terminal_and_all_there_in_markdown() -> None:
    rows = tuple((f"net_{number}",) for number in range(5))
    table = Table(names("model"), rows, maximum_rows=3, full_table="results.csv")
    assert printed(table, width=40).splitlines()[-1] == "... and 2 more in results.csv"
    assert as_markdown([table]).count("| net") == 5


def test_a_long_name_gives_way_to_figures_and_wide_characters_count_twice() -> None:
    table = Table(
        (Column("model", is_name=True), Column("p50")), (("模型" * 10, "1.11 us"), ("b", "2.22 us"))
    )
    lines = printed(table, width=24).splitlines()
    assert all(width_of_text(line) <= 24 for line in lines)
    assert sum(line.count("模") for line in lines) == 10, "folded, not cut"
    assert any(line.endswith("1.11 us") for line in lines)


def test_colours_are_for_terminals_alone() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    blocks = [Note("crashed", "no kernel", "error")]
    terminal, pipe = Terminal(), io.StringIO()
    write_document(blocks, terminal, 80)
    write_document(blocks, pipe, 80)
    assert "\x1b[31mcrashed" in terminal.getvalue()
    assert pipe.getvalue() == "crashed: no kernel\n"


def test_a_bar_stands_before_a_column_apart() -> None:
    table = Table((Column("p50"), Column("card", has_bar=True)), (("1", "2"),))
    assert [line.split() for line in printed(table, width=40).splitlines()][::2] == [
        ["p50", "|", "card"],
        ["1", "|", "2"],
    ]


def test_a_table_with_all_columns_goes_on_below_and_breaks_no_word() -> None:
    names = ("ort-cpu", "torch-cpu", "openvino-cpu", "fpga:v80", "tensorrt", "torch-inductor")
    columns = (
        Column("model", is_name=True),
        Column("time"),
        *(Column(name, priority=1) for name in names),
        Column("status", is_name=True),
    )
    row = ("a-model of torch-cpu", "12.3 ms", *["1,234.5 ms (1 to 2)"] * len(names), "ok " * 9)
    lines = as_text([Table(columns, (row,), has_all_columns=True)], 80).splitlines()
    assert max(map(width_of_text, lines)) <= 80
    words = " ".join(lines).split()
    assert {*names, *["a-model", "of", "torch-cpu"]} <= set(words)
    assert " ".join(lines).count("1,234.5 ms (1 to 2)") == len(names)
    assert "no room" not in " ".join(lines)
