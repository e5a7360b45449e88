"""A drawn figure: every mark where its values say, names as text, room for all at any width."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from app.present.figure import (
    Axis,
    Figure,
    Mark,
    ReferenceLine,
    Region,
    Scale,
    Series,
    value_span,
)
from app.present.svg import svg, svg_document
from app.present.svg_layout import axis_ticks, frame_of
from app.studies.dlmark.parts import picture_files, series_of

SVG = "{http://www.w3.org/2000/svg}"
RISING = tuple(Mark(10.0**n, 10.0 ** (n + 1), f"point {n}") for n in range(3))
HOSTILE = "</svg><script>alert(1)</script><b>"


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
    (left, low), (middle, half), (right, high) = circles(drawn(chart(Series("a", RISING, "line"))))
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert half == pytest.approx((low + high) / 2, abs=0.1)
    assert low > high, "up is more"


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
        HOSTILE,
        Axis(HOSTILE, least=0.0),
        Axis(names=(HOSTILE,)),
        (
            Series(HOSTILE, (Mark(1.0, 0.0, HOSTILE, label=HOSTILE),), "bars", cases=('"><b>',)),
            Series("other", (Mark(1.0, 0.0),)),
        ),
        (ReferenceLine("x", 0.5, HOSTILE),),
        (Region(0.1, 0.2),),
        HOSTILE,
    )
    for content in (svg(figure, 360).encode(), svg_document([figure])):
        root = ElementTree.fromstring(content)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "b"}
        assert HOSTILE in [title.text for title in root.iter() if title.tag.endswith("title")]


def test_hovering_shows_each_mark_and_the_filter_knows_its_case() -> None:
    root = drawn(chart(Series("net", RISING, "line", cases=("a", "b"))))
    assert [title.text for title in root.iter(f"{SVG}title")] == ["point 0", "point 1", "point 2"]
    assert [group.get("data-cases") for group in root.iter(f"{SVG}g")] == ["a b"]


def test_a_hollow_mark_is_filled_with_the_page() -> None:
    marks = (Mark(1.0, 1.0), Mark(2.0, 1.0, is_hollow=True))
    full, hollow = drawn(chart(Series("net", marks))).iter(f"{SVG}circle")
    assert "fill" not in full.attrib and hollow.attrib["fill"] == "var(--back)"


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


def test_ticks_do_not_stand_on_each_other() -> None:
    axis = Axis(ticks=tuple((float(k), "2026-11-23") for k in range(30)))
    ticks = axis_ticks(axis, Scale(0.0, 29.0, 0.0, 400.0))
    assert 2 <= len(ticks) <= 6


def test_of_one_point_or_none_there_is_no_picture() -> None:
    single, three = chart(*series_of({"one": ((1.0, 1.0, "alone"),)})), chart(Series("a", RISING))
    assert picture_files({"none": [chart()], "one": [single]}) == {}
    assert list(picture_files({"some": [single, three]})) == ["some"]
