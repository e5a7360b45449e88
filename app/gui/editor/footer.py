"""What stands below the sweep's form: what the plan comes to, and the buttons that measure it."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.formatting.text import duration
from app.gui.look.words import PlainLabel
from app.plan.estimate import Estimate


class Footer(QFrame):
    """Its buttons can be pressed only while `ready`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("footer")
        self.verdict = PlainLabel(wrap=True)
        self.verdict.setAccessibleName("number of cases and expected time")
        self.run_button = QPushButton("Run")
        self.run_button.setObjectName("primary")
        self.run_button.setToolTip("Start measuring (F5)")
        self.queue_button = QPushButton("Queue")
        self.queue_button.setToolTip("Measure this after the sweeps that run or wait")
        self.copy_button = QPushButton("Copy command")
        self.copy_button.setToolTip("Copy the command line that measures the same cases")
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 8, 16, 8)
        row.addWidget(self.verdict, 1)
        for button in (self.copy_button, self.queue_button, self.run_button):
            row.addWidget(button)

    def tell(self, text: str, *, wrong: bool, ready: bool) -> None:
        """Say this, as a fault where it is one."""
        self.verdict.setText(text[:1].upper() + text[1:])
        self.verdict.setProperty("wrong", wrong)
        self.verdict.style().polish(self.verdict)
        for button in (self.run_button, self.queue_button, self.copy_button):
            button.setEnabled(ready)


def told(found: Estimate) -> str:
    """The cases, their rounds and the time that they take, in a line."""
    about = "" if found.exact else "up to "
    if found.search:
        searches = "1 search" if found.cases == 1 else f"{about}{found.cases:,} searches"
        return f"{searches}, {duration(found.shortest_s)} for each first try"
    cases = "1 case" if found.cases == 1 else f"{about}{found.cases:,} cases"
    short, long = duration(found.shortest_s), duration(found.longest_s)
    rounds = "1 round" if found.rounds == 1 else f"{found.rounds} rounds"
    if found.maximum_rounds > found.rounds:
        rounds = f"{found.rounds} to {found.maximum_rounds} rounds"
    return f"{cases}, {rounds} each, {short} to {long}"
