"""One line below the tool bar: what is wrong with the run, each word a filter of the table."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal

from app.gui.look.words import Line
from app.gui.panels.strip import Strip, Word
from app.insights.quality import Doubt, doubts
from app.runs.following.state import RunState


class TrustStrip(Strip):
    """`asked` carries the filter of the doubt that was clicked, "" for none any more."""

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__("trust", "What is wrong with the run", share=2 / 3)
        self._doubts: list[Doubt] = []
        self._cases = 0
        self._query = ""
        self._told: tuple[object, ...] = ()
        self.remedy = Line()
        self.remedy.setProperty("muted", True)
        self.remedy.setAccessibleName("remedy")
        self._line.addWidget(self.remedy, 1)

    def show_run(self, state: RunState) -> None:
        """What is to be said of this run, as it stands."""
        stamp = (state.folder, state.revision, state.alive)
        if stamp != self._told:
            self._told = stamp
            over, merged = not state.alive, state.manifest.merged
            found = doubts(state.series, state.environments, over, merged, state.damaged)
            self._show(found, len(state.series))

    def show_query(self, query: str) -> None:
        """What the table is filtered by now: the doubt that says the same is pressed."""
        self._query = query
        for doubt, button in zip(self._doubts, self.buttons, strict=True):
            button.setChecked(bool(query) and doubt.query == query)
        chosen = [doubt for doubt in self._doubts if doubt.query == query] or self._doubts
        self.remedy.say(_explanation(chosen[0]) if chosen else "")

    def _show(self, found: list[Doubt], cases: int) -> None:
        if (found, cases) == (self._doubts, self._cases):
            return
        self._doubts, self._cases = found, cases
        self.say([self._word(doubt) for doubt in found])
        for button in self.buttons:
            button.setCheckable(True)
        self.show_query(self._query)

    def _word(self, doubt: Doubt) -> Word:
        text = self._text(doubt)
        tip = "\n".join(filter(None, (text, doubt.detail, doubt.remedy, "Click: show these rows")))
        explanation = _explanation(doubt)
        in_menu = f"{text} ({explanation})" if explanation else text
        return Word(text, tip, in_menu, partial(self._clicked, doubt), doubt.tone)

    def _text(self, doubt: Doubt) -> str:
        of = "all" if doubt.rows == self._cases > 1 else f"{doubt.rows:,} of {self._cases:,}"
        return f"{of}: {doubt.what}"

    def _clicked(self, doubt: Doubt) -> None:
        self.asked.emit("" if self._query == doubt.query else doubt.query)


def _explanation(doubt: Doubt) -> str:
    return " ".join(filter(None, (doubt.detail, doubt.remedy)))
