"""Pictures of a study: every point where its figure says, nothing drawn of nothing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from app.studies.pictures import Curve, Plot, drawn

SVG = "{http://www.w3.org/2000/svg}"
RISING = Curve("net <b>", ((1.0, 10.0, "first"), (10.0, 100.0, "second"), (100.0, 1000.0, "last")))


def plot(*curves: Curve, linear: bool = False) -> Plot:
    return Plot("Speed", "batch", curves, "{:g}".format, "{:g}".format, linear)


def places(picture: bytes) -> list[tuple[float, float]]:
    points = ElementTree.fromstring(picture).iter(f"{SVG}circle")
    return [(float(point.attrib["cx"]), float(point.attrib["cy"])) for point in points]


def test_what_grows_alike_is_a_straight_line_of_both_logarithms() -> None:
    (left, low), (middle, half), (right, high) = places(drawn({"p": [plot(RISING)]})["p"])
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert half == pytest.approx((low + high) / 2, abs=0.1)
    assert low > high, "up is more"


def test_a_linear_axis_is_in_proportion() -> None:
    shares = Curve("top-1", ((1.0, 50.0, ""), (10.0, 60.0, ""), (100.0, 90.0, "")), joined=False)
    picture = drawn({"p": [plot(shares, linear=True)]})["p"]
    (_, low), (_, middle), (_, high) = places(picture)
    assert (low - middle) / (low - high) == pytest.approx(0.25, abs=0.01)
    root = ElementTree.fromstring(picture)
    assert not list(root.iter(f"{SVG}polyline")), "points of different networks are no curve"
    ticks = [text.text for text in root.iter(f"{SVG}text")]
    assert {"50", "60", "70", "80", "90"} <= set(ticks)


def test_names_are_told_and_break_nothing() -> None:
    root = ElementTree.fromstring(drawn({"p": [plot(RISING)]})["p"])
    assert "net <b>" in [text.text for text in root.iter(f"{SVG}text")]
    assert [title.text for title in root.iter(f"{SVG}title")] == ["first", "second", "last"]


def test_of_one_point_or_none_there_is_no_picture() -> None:
    one = Curve("one", ((1.0, 1.0, "alone"),))
    assert drawn({"none": [plot()], "one": [plot(one)]}) == {}
    assert list(drawn({"some": [plot(one), plot(RISING)]})) == ["some"]
