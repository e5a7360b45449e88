"""When the next run begins: a check box for each kind of scenario, and a line for its figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QWidget

from app.cases.scenario import Scenario, ScenarioKind
from app.gui.look.terms import TERMS

_SEPARATORS = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class _Row:
    """`text` names a kind as people do; `example` are figures of it, "" where it takes none."""

    kind: ScenarioKind
    text: str
    example: str
    figures: str = ""


_ROWS = (
    _Row("closed_loop", "closed loop", ""),
    _Row("paced", "paced by", "20us", "gaps between runs, such as 20us, 1ms"),
    _Row("rate", "at a rate of", "200/s", "rates, such as 100/s, 200/s"),
    _Row("poisson", "poisson, on average", "200/s", "rates, such as 100/s, 200/s"),
    _Row("burst", "bursts of", "8@10ms", "how many at once, and how far apart: 8@10ms"),
    _Row("multistream", "multistream of", "8", "how many at once, such as 4, 8"),
    _Row("offline", "offline", ""),
    _Row("ahead", "queued ahead", "8", "how many for each wait, such as 8, 64"),
)


class ScenarioField(QWidget):
    """Each checked kind with each of its figures is one more scenario of the sweep."""

    edited = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self.boxes: dict[ScenarioKind, QCheckBox] = {}
        self.figures: dict[ScenarioKind, QLineEdit] = {}
        self.problem = ""
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for place, row in enumerate(_ROWS):
            box = QCheckBox(row.text)
            name = row.kind.replace("_", " ")
            box.setAccessibleName(f"scenario {name}")
            box.setToolTip(TERMS[name])
            box.clicked.connect(self._read)
            grid.addWidget(box, place, 0)
            self.boxes[row.kind] = box
            if row.example:
                line = QLineEdit(row.example)
                line.setAccessibleName(f"figures of the scenario {name}")
                line.setToolTip(f"{row.figures[:1].upper()}{row.figures[1:]}; several with commas.")
                line.textEdited.connect(self._read)
                grid.addWidget(line, place, 1)
                self.figures[row.kind] = line

    def show_value(self, scenarios: Sequence[str]) -> None:
        """Show these; nothing is emitted."""
        for kind, box in self.boxes.items():
            shown = [text for text in scenarios if text.partition(":")[0] == kind]
            box.setChecked(bool(shown))
            line = self.figures.get(kind)
            if line is not None:
                if shown and self._read_kind(kind) != shown:
                    line.setText(", ".join(text.partition(":")[2] for text in shown))
                line.setEnabled(bool(shown))
                self._mark(line, wrong=False)
        self.problem = ""

    def _texts(self, kind: ScenarioKind) -> list[str]:
        """The scenarios of a kind as they are typed, one without figures where none is."""
        line = self.figures.get(kind)
        if line is None:
            return [kind]
        words = [word for word in _SEPARATORS.split(line.text()) if word]
        return [f"{kind}:{word}" for word in words] or [f"{kind}:"]

    def _read_kind(self, kind: ScenarioKind) -> list[str]:
        """The scenarios of a kind as a plan holds them; none while one of them is wrong."""
        try:
            return [str(Scenario.parse(text)) for text in self._texts(kind)]
        except ValueError:
            return []

    def _read(self) -> None:
        found: list[str] = []
        self.problem = ""
        for kind, box in self.boxes.items():
            line = self.figures.get(kind)
            if line is not None:
                line.setEnabled(box.isChecked())
                self._mark(line, wrong=False)
            if not box.isChecked():
                continue
            try:
                found += [str(Scenario.parse(text)) for text in self._texts(kind)]
            except ValueError as error:
                self.problem = self.problem or f"scenario {error}"
                if line is not None:
                    self._mark(line, wrong=True)
        if not found and not self.problem:
            self.problem = "no scenario is chosen; check closed loop, or another"
        self.edited.emit(None if self.problem else tuple(dict.fromkeys(found)))

    @staticmethod
    def _mark(line: QLineEdit, wrong: bool) -> None:
        if bool(line.property("invalid")) != wrong:
            line.setProperty("invalid", wrong)
            line.style().polish(line)
