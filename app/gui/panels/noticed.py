"""One line between tool bar and plots: what to look at in a run that is over, each word a link."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel

from app.gui.panels.strip import Strip, Word
from app.insights.insight import Notice
from app.insights.rules import HEADING
from app.runs.following.state import RunState


class NoticedStrip(Strip):
    """`asked` carries the key of the view that shows what was clicked, and those of its cases."""

    asked = Signal(str, tuple)

    def __init__(self) -> None:
        super().__init__("noticed", HEADING.capitalize(), share=0.85)
        self._notices: tuple[Notice, ...] = ()
        heading = QLabel(f"{HEADING.capitalize()}:")
        heading.setProperty("muted", True)
        self._line.insertWidget(0, heading)
        self._line.addStretch(1)

    def show_run(self, state: RunState) -> None:
        """What is to be said of this run, as it stands."""
        if state.noticed != self._notices:
            self._notices = state.noticed
            self.say([self._word(notice) for notice in state.noticed])

    def _word(self, notice: Notice) -> Word:
        text = notice.sentence
        act = partial(self.asked.emit, notice.view, notice.case_ids)
        return Word(notice.brief, f"{text}\nClick: show these cases where it is seen", text, act)
