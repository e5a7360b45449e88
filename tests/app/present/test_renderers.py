"""A document in every form: hostile names harm none, and nothing is cut silently."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from app.present.document import (
    Block,
    Column,
    Command,
    Heading,
    Paragraph,
    Picture,
    Points,
    Table,
    names,
    nest,
)
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Region, Scale, Series, value_span
from app.present.studies.dlmark_parts import picture_files, series_of
from app.present.svg import svg, svg_document
from app.present.svg_layout import frame_of
from app.present.terminal import as_markdown, as_text, filled


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


def test_a_table_that_does_not_fit_is_told_group_by_group() -> None:
    columns = [Column("model", is_name=True)]
    columns += [Column(name, group) for group in ("left", "right") for name in ("mean", "p99")]
    table = Table(tuple(columns), (("cnn", "1.11", "2.22", "3.33", "4.44"),))
    wide, narrow = as_text([table], 80), as_text([table], 24)
    assert (wide.count("cnn"), narrow.count("cnn")) == (1, 2)
    for cell in ("1.11", "2.22", "3.33", "4.44"):
        assert narrow.count(cell) == 1
    assert max(map(len, narrow.splitlines())) <= 24


def test_a_word_is_broken_between_what_a_terminal_shows_as_one_character() -> None:
    heart, accented = "\u2764\ufe0f", "e\u0301"  # two columns, and one
    assert filled(f"{heart}b\u8868{accented}b", 2) == [heart, "b", "\u8868", f"{accented}b"]
    assert filled("\u8868\u8a08", 1) == ["\u8868", "\u8a08"], "wider than the room"


def test_a_picture_is_a_link_that_no_name_breaks() -> None:
    picture = Picture("a b(1).svg", "one [over] two")
    assert as_markdown([picture]) == "![one \\[over\\] two](a%20b%281%29.svg)\n"
    blocks: list[Block] = [Heading("One", 1), Paragraph("Two."), Picture("p.svg", "it")]
    deeper = [Heading("One", 2), Paragraph("Two."), Picture("part/p.svg", "it")]
    assert [nest(block, "part") for block in blocks] == deeper, "of a part of a whole"
    assert as_text([picture], 80).strip() == "picture: a b(1).svg, one [over] two"


def test_rows_beyond_the_most_are_counted_on_a_terminal_and_all_there_in_markdown() -> None:
    rows = tuple((f"net_{number}",) for number in range(5))
    table = Table(names("model"), rows, maximum_rows=3, full_table="results.csv")
    assert as_text([table], 40).splitlines()[-1] == "... and 2 more in results.csv"
    assert as_markdown([table]).count("| net") == 5


def test_a_command_to_be_pasted_is_broken_nowhere() -> None:
    command = "pip install 'graphlap[openvino]'"
    row = ("openvino-cpu", "no package of that name is installed here", f"{command}, or else")
    for block in (Table(names("runtime", "reason", "action"), (row,)), Points((" ".join(row),))):
        assert command in as_text([block], 60)


SVG = "{http://www.w3.org/2000/svg}"
RISING = tuple(Mark(10.0**n, 10.0 ** (n + 1), f"point {n}") for n in range(3))
MARKUP = "</svg><script>alert(1)</script><b>"


def chart(*series: Series, scale: str = "log") -> Figure:
    rate = Axis("rate", scale="log" if scale == "log" else "linear")
    return Figure("Speed", Axis("batch", "count", "log"), rate, series)


def dots(*names: str) -> Figure:
    marks = tuple(Mark(10.0 + k, k, low=9.0, high=20.0 + k) for k in range(len(names)))
    return Figure("Latency", Axis("latency", "us", "log"), Axis(names=names), (Series("", marks),))


def drawn(figure: Figure, width: int = 800) -> ElementTree.Element:
    return ElementTree.fromstring(svg(figure, width).replace("<svg", f'<svg xmlns="{SVG[1:-1]}"'))


def circles(root: ElementTree.Element) -> list[tuple[float, float]]:
    circle_elements = root.iter(f"{SVG}circle")
    return [
        (float(element.attrib["cx"]), float(element.attrib["cy"])) for element in circle_elements
    ]


def test_what_grows_alike_is_a_straight_line_of_both_logarithms() -> None:
    root = drawn(chart(Series("net", RISING, "line", cases=("a", "b"))))
    assert [title.text for title in root.iter(f"{SVG}title")] == ["point 0", "point 1", "point 2"]
    assert [group.get("data-cases") for group in root.iter(f"{SVG}g")] == ["a b"]
    (left, low), (middle, half), (right, high) = circles(root)
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert half == pytest.approx((low + high) / 2, abs=0.1)
    assert low > high, "up is more"
    marks = (Mark(1.0, 1.0), Mark(2.0, 1.0, is_hollow=True))
    full, hollow = drawn(chart(Series("net", marks))).iter(f"{SVG}circle")
    assert "fill" not in full.attrib and hollow.attrib["fill"] == "var(--back)"
    single, three = chart(*series_of({"one": ((1.0, 1.0, "alone"),)})), chart(Series("a", RISING))
    assert picture_files({"none": [chart()], "one": [single]}) == {}
    assert list(picture_files({"some": [single, three]})) == ["some"]


def test_a_linear_axis_is_in_proportion_and_points_are_no_curve() -> None:
    shares = tuple(Mark(x, y) for x, y in ((1.0, 50.0), (10.0, 60.0), (100.0, 90.0)))
    root = drawn(chart(Series("top-1", shares), scale="linear"))
    (_, low), (_, middle), (_, high) = circles(root)
    assert (low - middle) / (low - high) == pytest.approx(0.25, abs=0.01)
    assert not list(root.iter(f"{SVG}polyline"))
    assert {"50", "60", "70", "80", "90"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_an_interval_is_within_the_axis_and_as_wide_as_its_ends() -> None:
    figure = dots("one", "two")
    assert value_span(figure, "x") == (9.0, 21.0)
    frame = frame_of(figure, 800, titled=False)
    for end in (9.0, 21.0):
        assert frame.left <= frame.x(end) <= frame.right
    path = next(drawn(figure).iter(f"{SVG}path")).attrib["d"]
    assert path.startswith(f"M{frame.x(9.0):.1f} ") and f"H{frame.x(20.0):.1f}" in path


@pytest.mark.parametrize("width", [1000, 360])
def test_everything_is_within_the_drawing(width: int) -> None:
    names = ("resnet_v2_50 · batch 1 · openvino-cpu · threads 2 (simulated)", "mlp")
    root = drawn(dots(*names), width)
    height = float(root.attrib["height"])
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.attrib["x"]) <= width
        assert 0 <= float(text.attrib["y"]) <= height
    for x, y in circles(root):
        assert 0 <= x <= width and 0 <= y <= height
    words = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    assert all(part in words for part in names[0].split()), "no name is cut"


def test_names_are_text_and_break_nothing() -> None:
    figure = Figure(
        MARKUP,
        Axis(MARKUP, least=0.0),
        Axis(names=(MARKUP,)),
        (
            Series(MARKUP, (Mark(1.0, 0.0, MARKUP, label=MARKUP),), "bars", cases=('"><b>',)),
            Series("other", (Mark(1.0, 0.0),)),
        ),
        (ReferenceLine("x", 0.5, MARKUP),),
        (Region(0.1, 0.2),),
        MARKUP,
    )
    for content in (svg(figure, 360).encode(), svg_document([figure])):
        root = ElementTree.fromstring(content)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "b"}
        assert MARKUP in [title.text for title in root.iter() if title.tag.endswith("title")]


@pytest.mark.parametrize(
    ("least", "most"), [(1.0, 3.0), (16.5, 21.1), (130.0, 131.0), (1e-3, 1e9), (0.5, 40_000.0)]
)
def test_a_logarithmic_axis_has_two_ticks_or_more_and_no_crowd(least: float, most: float) -> None:
    ticks = Scale(least, most, 0.0, 600.0, is_log=True).ticks(8)
    assert 2 <= len(ticks) <= 9
    assert all(least <= tick <= most for tick in ticks)


@pytest.mark.parametrize("most", [41.0, 1.0, 99.0, 0.003, 10_001.0])
@pytest.mark.parametrize("count", [2, 4, 9])
def test_a_linear_axis_has_two_round_ticks_or_more(most: float, count: int) -> None:
    ticks = Scale(0.0, most, 0.0, 300.0).ticks(count)
    assert 2 <= len(ticks) <= count + 1
    assert all(0.0 <= tick <= most * (1 + 1e-9) for tick in ticks)
