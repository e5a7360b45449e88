"""The lines of words below the tool bar: what is there is read whole, or stands in a menu."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QRect
from pytestqt.qtbot import QtBot

from app.gui.look.words import Line
from app.gui.panels.strip import Strip, Word

TEXTS = (
    "all: 1.6 to 2.4% of the samples are far above the rest",
    "8 of 40: more was running than this machine has cores",
    "all: a virtual machine",
    "all: the clock's governor is not told",
)


def _strip(qtbot: QtBot, width: int) -> Strip:
    strip = Strip("strip", "A strip", share=0.8)
    qtbot.addWidget(strip)
    strip.resize(width, 40)
    strip.say([Word(text, text, f"{text} (a remedy)", lambda: None) for text in TEXTS])
    return strip


@pytest.mark.parametrize("width", [1900, 1300, 1000, 750])
def test_words_that_are_seen_are_whole_and_the_rest_is_in_the_menu(
    qtbot: QtBot, width: int
) -> None:
    strip = _strip(qtbot, width)
    seen = [button.text() for button in strip.buttons if not button.isHidden()]
    left = [action.text() for action in strip._menu.actions()]
    assert [*seen, *left] == [*TEXTS[: len(seen)], *(f"{one} (a remedy)" for one in _left_of(seen))]
    assert strip.more.isHidden() == (not left)
    assert strip.more.text() == f"and {len(left)} more"
    taken = [button.sizeHint().width() for button in strip.buttons if not button.isHidden()]
    assert sum(taken) + strip.more.sizeHint().width() * bool(left) <= 0.8 * width


def _left_of(seen: list[str]) -> tuple[str, ...]:
    return TEXTS[len(seen) :]


def test_more_room_shows_more_words(qtbot: QtBot) -> None:
    shown = []
    for width in (300, 750, 1000, 1300, 1900):
        strip = _strip(qtbot, width)
        shown.append(sum(not button.isHidden() for button in strip.buttons))
    assert shown[0] == 1
    assert shown[-1] == len(TEXTS)
    assert all(less <= more for less, more in pairwise(shown))


def test_the_first_alone_is_cut_where_not_even_that_has_room(qtbot: QtBot) -> None:
    strip = _strip(qtbot, 300)
    text = strip.buttons[0].text()
    assert text.startswith("all: ") and text.endswith("…")
    assert strip.buttons[0].sizeHint().width() + strip.more.sizeHint().width() <= 0.8 * 300
    assert strip.more.text() == "and 3 more"
    strip.resize(1900, 40)
    assert strip.buttons[0].text() == TEXTS[0]


def test_a_line_that_is_too_long_ends_in_dots_and_is_whole_in_its_tip(qtbot: QtBot) -> None:
    line = Line()
    qtbot.addWidget(line)
    line.say("stop other work on this machine")
    line.resize(line.fontMetrics().horizontalAdvance(line.text()) + 10, 30)
    whole = line.grab().toImage()
    line.resize(whole.width() // 2, 30)
    cut = line.grab().toImage()
    dots = line.fontMetrics().horizontalAdvance("…")
    ends = QRect(cut.width() - 2 * dots, 0, 2 * dots, 30)
    assert cut.copy(ends) != whole.copy(ends)
    assert line.toolTip() == line.text()
    assert line.minimumSizeHint().width() <= line.sizeHint().width()
    assert line.sizePolicy().horizontalPolicy().name == "Ignored"
