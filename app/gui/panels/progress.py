"""Where the run stands: case, phase, round, samples, what p99 still needs, and how long yet."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QProgressBar, QSizePolicy, QWidget

from app.gui.look.terms import TERMS
from app.results.follow.ending import ending
from app.results.follow.state import RunState
from app.results.live import Live
from app.results.needed import still_needed
from app.results.text import NOT_MEASURED, duration, latency

_PHASES = {
    "": "waiting",
    "start": "starting a process",
    "import": "importing the engine",
    "compile": "compiling",
    "check": "compiling",
    "first_inference": "first inference",
    "warmup": "warming up",
    "correctness": "checking the outputs",
    "measure": "measuring",
    "teardown": "ending the round",
    "export": "exporting",
}
_FIELDS = (
    ("case", "Case", "case"),
    ("phase", "Phase", "warm-up"),
    ("rounds", "Round", "round"),
    ("samples", "Samples", "p99"),
    ("missing", "Still for p99", "needed"),
    ("p50", "p50 so far", "provisional"),
    ("p99", "p99 so far", "provisional"),
    ("eta", "Time left", "profile"),
)
_ASKED = {"paused": "pausing after this round", "stopping": "stopping after this block"}
_LEFT_OUT_FIRST = ("missing", "p50", "samples", "rounds")
_LEAST_WIDTH = 460


class ProgressPanel(QWidget):
    """Labels over one row of a bar; `show_run` fills them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = QProgressBar(textVisible=True)
        self.bar.setAccessibleName("rounds done")
        self.bar.setFormat("no run")
        self.bar.setRange(0, 1)
        self._asked = ""
        self.values: dict[str, QLabel] = {}
        self._headings: dict[str, QLabel] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(10, 6, 10, 8)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(1)
        for column, (key, text, term) in enumerate(_FIELDS):
            heading = QLabel(text)
            heading.setProperty("muted", True)
            value = QLabel(NOT_MEASURED, textFormat=Qt.TextFormat.PlainText)
            value.setAccessibleName(text)
            if key in ("case", "phase"):
                value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
                value.setMinimumWidth(90)
                grid.setColumnStretch(column, 5 if key == "case" else 2)
            else:
                value.setMinimumWidth(value.fontMetrics().horizontalAdvance("1,000,000"))
            for widget in (heading, value):
                widget.setToolTip(TERMS[term])
            grid.addWidget(heading, 0, column)
            grid.addWidget(value, 1, column)
            self.values[key], self._headings[key] = value, heading
        grid.addWidget(self.bar, 2, 0, 1, len(_FIELDS))
        grid.setSizeConstraint(QGridLayout.SizeConstraint.SetNoConstraint)
        self._grid = grid
        self.setMinimumWidth(_LEAST_WIDTH)
        self.setFixedHeight(2 * self.fontMetrics().height() + 56)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave out what there is no room for, the least needed first."""
        super().resizeEvent(event)
        hidden: list[str] = []
        for key in ("", *_LEFT_OUT_FIRST):
            hidden += [key] if key else []
            self._hide(hidden)
            if self._grid.minimumSize().width() <= event.size().width():
                return

    def _hide(self, keys: Sequence[str]) -> None:
        for key, value in self.values.items():
            for widget in (self._headings[key], value):
                widget.setVisible(key not in keys)

    def show_run(self, state: RunState | None, asked: str = "") -> None:
        """Fill in a run's figures; None: no run is open.

        `asked` is what was asked of its batch process: a pause waits for the round in flight.
        """
        self._asked = asked if asked in _ASKED else ""
        live = state.live if state else None
        if state is None or live is None:
            for label in self.values.values():
                label.setText(NOT_MEASURED)
            self._show_bar(0, 1, "no run is open" if state is None else "nothing is told yet")
            return
        moving = state.alive and not state.over
        told, tone = self._told(state, live)
        self._set("case", self._case(state, live) if moving else NOT_MEASURED)
        self._set("phase", self._phase(live) if moving else NOT_MEASURED)
        in_round = moving and live.state == "measuring"
        rounds = state.manifest.rounds
        of = "at most" if state.manifest.plan.get("precise") else "of"
        number = f"{(live.round or 0) + 1} {of} {rounds}"
        self._set("rounds", number if in_round else NOT_MEASURED)
        self._set("samples", f"{state.samples_in_flight:,}" if in_round else NOT_MEASURED)
        current = state.of(live.case_id)
        row = current.row if current else {}
        missing = still_needed(row, state.samples_in_flight)
        self._set("missing", missing if in_round else NOT_MEASURED)
        self._set("p50", latency(live.p50_us) if in_round else NOT_MEASURED)
        self._set("p99", latency(live.p99_us) if in_round else NOT_MEASURED)
        runs = moving and live.state != "paused" and not self._asked
        self._set("eta", duration(live.eta_s) if runs else NOT_MEASURED)
        done, total = live.rounds_done, max(1, live.rounds_total)
        text = f"{live.rounds_done:,} of {live.rounds_total:,} rounds"
        if live.cases_failed and moving:
            text += f", {live.cases_failed:,} failed"
        self._show_bar(done, total, f"{text}, {told}", tone or "")

    def _told(self, state: RunState, live: Live) -> tuple[str, str | None]:
        found = ending(state, live)
        if state.alive and not state.over:
            waits = self._asked and live.state not in ("paused", "stopping")
            return (_ASKED[self._asked], "doubtful") if waits else (found.text, found.tone)
        return found.text, found.tone

    def _phase(self, live: Live) -> str:
        if live.state == "paused":
            return "paused"
        if self._asked:
            return _ASKED[self._asked]
        return _phase(live)

    def _set(self, key: str, text: str) -> None:
        label = self.values[key]
        if key in ("case", "phase"):
            shown = label.fontMetrics().elidedText(
                text, Qt.TextElideMode.ElideMiddle, max(60, label.width())
            )
            label.setToolTip(text if shown != text else TERMS["case"])
            text = shown
        label.setText(text)

    def _case(self, state: RunState, live: Live) -> str:
        if live.state == "exporting" and live.exporting:
            return ", ".join(live.exporting)
        current = state.of(live.case_id)
        return current.label if current else NOT_MEASURED

    def _show_bar(self, done: int, total: int, text: str, tone: str = "") -> None:
        self.bar.setRange(0, total)
        self.bar.setValue(done)
        self.bar.setFormat(text.replace("%", "%%"))
        if tone != self.bar.property("tone"):
            self.bar.setProperty("tone", tone)
            self.bar.style().polish(self.bar)


def _phase(live: Live) -> str:
    if live.state == "exporting":
        return f"exporting {live.exports_done + 1} of {max(live.exports_total, 1)}"
    return _PHASES.get(live.phase, live.phase)
