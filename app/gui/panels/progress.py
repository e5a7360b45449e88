"""The status bar: state and rounds of the run in one line; messages of actions cover its left."""

from __future__ import annotations

import time

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QSizePolicy,
    QStatusBar,
    QWidget,
)

from app.analysis.columns.precision import missing_text
from app.formatting.text import NOT_MEASURED, duration
from app.gui.look.controls import lay, named, restyle
from app.gui.look.text import TERMS, PlainLabel, plain_tip
from app.plan.capabilities import KINDS
from app.run_folder.live_status import Live
from app.runs.following.state import Ending, RunState, ending, status_without_live

_LARGEST_SHARE = 0.46
"""Of the status bar: what is left says which case is measured."""


class RoundBar(QProgressBar):
    """As wide as its text where there is room; a longer one loses its end, and has a tool tip."""

    def __init__(self) -> None:
        super().__init__(textVisible=True)
        self.setAccessibleName("rounds done")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_done(0, 1, "no run")

    def show_done(self, count: int, total: int, text: str, tone: str = "") -> None:
        """`total` 0: nobody knows how much there is to do, and the bar only moves."""
        self.setRange(0, total)
        self.setValue(count)
        bar_text = text.replace("%", "%%")
        if bar_text != self.format():
            self.setFormat(bar_text)
            self.setAccessibleDescription(text)
            self.setToolTip(plain_tip(text))
            self.updateGeometry()
        restyle(self, tone=tone)

    def text(self) -> str:
        """What is painted; Qt has no text for a bar that only moves, and cuts at both ends."""
        plain_text = self.format().replace("%%", "%")
        room = max(0, self.width() - 16)
        return self.fontMetrics().elidedText(plain_text, Qt.TextElideMode.ElideRight, room)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        text_width = self.fontMetrics().horizontalAdvance(self.format()) + 28
        holder = self.parentWidget()
        whole = holder.width() if holder is not None else text_width
        most = max(160, int(whole * _LARGEST_SHARE))
        return QSize(min(text_width, most), self.fontMetrics().height() + 6)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(60, self.fontMetrics().height() + 6)


SAID_FOR_MS = 8_000
"""How long a message of an action may cover where the run stands."""
_PHASES = {
    "": "waiting",
    "start": "starting a process",
    "import": "importing the engine",
    "compile": "compiling",
    "first_inference": "first inference",
    "warmup": "warming up",
    "correctness": "checking the outputs",
    "measure": "measuring",
    "teardown": "ending the round",
    **{kind: entry.doing for kind, entry in KINDS.items()},
}
_FIELDS = (
    ("case", "", "case"),
    ("phase", "", "warm-up"),
    ("rounds", "Round", "round"),
    ("missing", "Still for p99", "needed"),
    ("eta", "Left", "length"),
)
_ENDINGS = {
    "paused": Ending("pausing after this round", "warning", "PAUSING"),
    "stopping": Ending("stopping after this block", "warning", "STOPPING"),
}
_STARTING = Ending("starting the batch process", None)
_LEFT_OUT_FIRST = ("missing", "rounds", "phase", "eta")
_LEAST_CASE = 12
"""Characters of the case's name that stay readable before anything is left out for them."""


class ProgressLine(QStatusBar):
    """`show_run` fills it; `values` are its figures, `word` says at a glance what is amiss."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.values: dict[str, QLabel] = {}
        self._parts: dict[str, QWidget] = {}
        self._texts: dict[str, str] = {}
        self._last_eta: tuple[float | None, float] = (None, 0.0)
        self._user_ending: Ending | None = None
        self._state: RunState | None = None
        self.line = QWidget()
        row = lay(QHBoxLayout(self.line), margins=(6, 0, 0, 0), spacing=14)
        for key, heading, term in _FIELDS:
            self._parts[key] = self._part(key, heading, term)
            row.addWidget(self._parts[key], 1 if key == "case" else 0)
        self.line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.word = named(PlainLabel(), "how the run stands", objectName="standing")
        self.bar = RoundBar()
        self.addWidget(self.line, 1)
        self.addPermanentWidget(self.word)
        self.addPermanentWidget(self.bar)
        self.show_run(None)

    def _part(self, key: str, heading: str, term: str) -> QWidget:
        part = QWidget()
        row = lay(QHBoxLayout(part), spacing=5)
        value = named(PlainLabel(NOT_MEASURED), heading or key.capitalize(), TERMS[term])
        if heading:
            row.addWidget(named(QLabel(heading), tip=TERMS[term], muted=True))
        if key == "case":
            value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row.addWidget(value, 1)
        self.values[key] = value
        return part

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._fit()

    def say(self, text: str, for_ms: int = SAID_FOR_MS) -> None:
        """Cover the figures with what an action has to say."""
        self.showMessage(text, for_ms)

    def show_start(self) -> None:
        """A batch process was started and has not made its folder yet."""
        self._state, self._user_ending = None, None
        self._show_end(_STARTING)
        self._tell({})
        self.bar.show_done(0, 0, _STARTING.text)

    def show_run(self, state: RunState | None, text: str = "") -> None:
        """Fill in a run's figures; None: no run is open.

        `asked` is what was asked of its batch process: a pause waits for the round in flight.
        """
        self._state = state
        live = state.live if state else None
        if state is None or live is None:
            self._show_end(Ending("", None))
            self._tell({})
            self.bar.show_done(
                0, 1, "no run is open" if state is None else status_without_live(state)
            )
            return
        moving = state.alive and not state.is_over
        waits = moving and live.state not in ("paused", "stopping")
        self._user_ending = _ENDINGS.get(text) if waits else None
        run_ending = self._user_ending or ending(state, live)
        self._show_end(run_ending)
        if live.eta_s != self._last_eta[0]:
            self._last_eta = (live.eta_s, time.monotonic())
        self._tell(self._figures(state, live) if moving else {})
        self._show_bar(state, live, run_ending)

    def tick(self) -> None:
        """The time that is left grows less while nothing else is told."""
        state = self._state
        if state is not None and state.live is not None and state.alive and not state.is_over:
            self._set("eta", self._left(state.live))

    def _figures(self, state: RunState, live: Live) -> dict[str, str]:
        texts = {
            "case": self._case(state, live),
            "phase": self._phase(live),
            "eta": self._left(live),
        }
        if live.state == "measuring" and live.round is not None:
            relation = "at most" if state.manifest.plan.get("precise") else "of"
            texts["rounds"] = f"{live.round + 1} {relation} {state.manifest.rounds}"
            current = state.of(live.case_id)
            row = current.row if current else {}
            texts["missing"] = missing_text(row, state.samples_in_flight)
        return texts

    def _left(self, live: Live) -> str:
        """What was promised less what has gone by since; nothing while nothing goes on."""
        if live.state == "paused" or self._user_ending or live.eta_s is None:
            return NOT_MEASURED
        left_s = live.eta_s - (time.monotonic() - self._last_eta[1])
        if left_s <= 0:
            return "longer than expected"
        plan = state.manifest.plan if (state := self._state) else {}
        is_open = any(plan.get(name) for name in ("largest_batch", "slo", "tune", "precise"))
        at_least = is_open or (live.exports_done < live.exports_total and not live.exports_done)
        return f"{duration(left_s)}{' or more' if at_least else ''}"

    def _phase(self, live: Live) -> str:
        if live.state == "paused":
            return "paused"
        return self._user_ending.text if self._user_ending else _phase(live)

    def _case(self, state: RunState, live: Live) -> str:
        if live.state == "exporting" and live.exporting:
            return ", ".join(live.exporting)
        current = state.of(live.case_id)
        return current.label if current else NOT_MEASURED

    def _show_bar(self, state: RunState, live: Live, run_ending: Ending) -> None:
        moving = state.alive and not state.is_over
        if moving and live.state in ("starting", "exporting") and not live.rounds_done:
            count, total = live.exports_done, live.exports_total
            text = (
                f"{count:,} of {total:,} exports, {run_ending.text}" if total else run_ending.text
            )
            self.bar.show_done(count, total if count else 0, text)
            return
        text = f"{live.rounds_done:,} of {live.rounds_total:,} rounds"
        if live.cases_failed and moving:
            text += f", {live.cases_failed:,} failed"
        total = max(1, live.rounds_total)
        self.bar.show_done(
            live.rounds_done, total, f"{text}, {run_ending.text}", run_ending.tone or ""
        )

    def _show_end(self, run_ending: Ending) -> None:
        self.word.setText(run_ending.word)
        self.word.setVisible(bool(run_ending.word))
        restyle(self.word, tone=run_ending.tone)

    def _tell(self, texts: dict[str, str]) -> None:
        for key, value in self.values.items():
            self._texts[key] = texts.get(key, NOT_MEASURED)
            if key != "case":
                value.setText(self._texts[key])
        self._fit()

    def _set(self, key: str, text: str) -> None:
        if self._texts.get(key) != text:
            self._texts[key] = text
            self.values[key].setText(text)
            self._fit()

    def _fit(self) -> None:
        """Leave out what there is no room for, the least needed first."""
        texts = [key for key, text in self._texts.items() if text != NOT_MEASURED]
        case = self.values["case"]
        least = case.fontMetrics().averageCharWidth() * _LEAST_CASE
        room = self.width() - self.bar.sizeHint().width() - least - 24
        room -= self.word.sizeHint().width() if self.word.text() else 0
        for key in ("", *_LEFT_OUT_FIRST):
            texts = [part_key for part_key in texts if part_key != key]
            wide = sum(self._parts[k].sizeHint().width() + 14 for k in texts if k != "case")
            if wide <= room:
                break
        for key, part in self._parts.items():
            part.setVisible(key in texts)
        name = self._texts.get("case", NOT_MEASURED)
        width = max(least, room - wide + least)
        case.setText(case.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, width))
        case.setToolTip(plain_tip(name) if case.text() != name else TERMS["case"])


def _phase(live: Live) -> str:
    if live.state == "exporting":
        return f"exporting {live.exports_done + 1} of {max(live.exports_total, 1)}"
    return _PHASES.get(live.phase, live.phase)
