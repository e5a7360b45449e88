"""What is wrong with the run as a badge: one headline, and a panel of its causes with what to do.

Warnings are grouped by the subject of their codes, so that there are never more than six groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.analysis.insights.insight import Insight
from app.analysis.insights.quality import Issue, issues_of
from app.analysis.insights.rules import HEADING
from app.formatting.text import counted
from app.gui.look.controls import lay, named, restyle, tool_button
from app.gui.look.text import PlainLabel, caption
from app.runs.following.state import RunState
from exporters.diagnostics import tables

CAUSES: dict[str, tuple[str, ...]] = {
    "Damaged files": (),
    "Failed cases": (),
    "Disturbed machine": ("Machine", "GPU", "Hosts"),
    "Unsteady latency": ("Statistics",),
    "Too little measured, or too much load": ("Rounds", "Load", "Conditions"),
    "Engine and outputs": ("Engine", "Outputs", "Export", "Imported results"),
}
"""The groups, the gravest first, each with the subjects of the catalogue whose codes are in it."""
_SUBJECTS = {code: subject for subject, table in tables().items() for code in table}
_GROUPS = {subject: cause for cause, subjects in CAUSES.items() for subject in subjects}
_DAMAGE, _FAILURE, _MACHINE, *_ = CAUSES
_MOST_HIGH_PX, _WIDE_PX = 460, 460


@dataclass(frozen=True, slots=True)
class Group:
    """The doubts of one cause, those of most cases first."""

    cause: str
    doubts: tuple[Issue, ...]

    @property
    def is_error(self) -> bool:
        return any(doubt.tone == "error" for doubt in self.doubts)

    @property
    def action(self) -> str:
        """What to do about most of it."""
        return next((doubt.remedy for doubt in self.doubts if doubt.remedy), "")


def grouped(issues: Iterable[Issue], damage_count: int) -> list[Group]:
    """By cause, the gravest first; the first so many doubts are of damage."""
    by_cause: dict[str, list[Issue]] = {cause: [] for cause in CAUSES}
    for number, issue in enumerate(issues):
        if issue.code:
            cause = _GROUPS.get(_SUBJECTS.get(issue.code, ""), _MACHINE)
        elif number < damage_count:
            cause = _DAMAGE
        else:
            cause = _FAILURE if "status" in issue.query else _MACHINE
        by_cause[cause].append(issue)
    groups = [
        Group(cause, tuple(sorted(doubts, key=_gravity)))
        for cause, doubts in by_cause.items()
        if doubts
    ]
    return sorted(groups, key=lambda group: not group.is_error)


def _gravity(doubt: Issue) -> tuple[bool, bool, int]:
    """Sorts first what rows were warned of themselves, then what holds for the whole machine."""
    return doubt.tone != "error", not doubt.query.startswith(("code:", "status")), -doubt.rows


class WarningsBadge(QToolButton):
    """`query_asked` carries the filter of the doubt that was clicked, `cases_asked` the view that
    shows a finding and its cases."""

    query_asked = Signal(str)
    cases_asked = Signal(str, tuple)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("warnings")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.clicked.connect(self.open)
        self.groups: list[Group] = []
        self.findings: tuple[Insight, ...] = ()
        self.links: list[QToolButton] = []
        """What can be clicked in the panel."""
        self._cases = 0
        self._stamp: object = None
        self.panel = QFrame(self, Qt.WindowType.Popup)
        self.panel.setFrameShape(QFrame.Shape.StyledPanel)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        lay(QVBoxLayout(self.panel), self._scroll)
        self.hide()

    def show_run(self, state: RunState) -> None:
        """What is to be said of this run, as it stands."""
        stamp = (state.folder, state.revision, state.alive, state.damaged, state.insights)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        issues = issues_of(state.series, state.environments, not state.alive, state.damaged)
        self._cases = len(state.series)
        self.groups = grouped(issues, damage_count=int(bool(state.damaged)))
        self.findings = state.insights
        self._tell()

    @property
    def headline(self) -> str:
        """The gravest of all, and how much else there is."""
        if not self.groups:
            count = len(self.findings)
            return counted(count, "finding") if count else ""
        first = self.groups[0].doubts[0]
        rest = sum(len(group.doubts) for group in self.groups) - 1
        return self._text(first) + (f" · {rest} more" if rest else "")

    def _text(self, doubt: Issue) -> str:
        if not doubt.query.startswith("host:"):
            return f"{doubt.title}: {_share(doubt.rows, self._cases)}"
        return f"Damaged: {doubt.title}" if doubt.tone == "error" else doubt.title

    def _tell(self) -> None:
        headline = self.headline
        self.setText(caption(self.fontMetrics().elidedText(headline, _RIGHT, _WIDE_PX)))
        self.setToolTip("What is wrong with this run, and what to do about it")
        self.setAccessibleDescription(headline)
        tone = "error" if self.groups and self.groups[0].is_error else "warning"
        restyle(self, tone=tone if self.groups else "")
        self.setVisible(bool(headline))
        if self.panel.isVisible():
            self._fill()

    def open(self) -> None:
        """Show the panel below the badge, within the window."""
        self._fill()
        top = self.mapToGlobal(QPoint(0, self.height()))
        window = self.window().geometry()
        left = min(top.x(), window.right() - self.panel.width())
        self.panel.move(max(window.left(), left), top.y())
        self.panel.show()
        if self.links:
            self.links[0].setFocus()

    def _fill(self) -> None:
        content = QWidget()
        column = lay(QVBoxLayout(content), margins=(14, 10, 14, 12), spacing=4)
        self.links = []
        for group in self.groups:
            column.addWidget(_heading(group.cause))
            for doubt in group.doubts:
                act = partial(self.query_asked.emit, doubt.query)
                column.addLayout(self._row(self._text(doubt), doubt.detail, act))
            if group.action:
                column.addWidget(named(PlainLabel(group.action, wrap=True), muted=True))
        if self.findings:
            column.addWidget(_heading(HEADING.capitalize()))
        for notice in self.findings:
            act = partial(self.cases_asked.emit, notice.view, notice.case_ids)
            column.addLayout(self._row(notice.sentence, "", act))
        column.addStretch(1)
        self._scroll.setWidget(content)
        content.setFixedWidth(_WIDE_PX)
        high = column.heightForWidth(_WIDE_PX) if column.hasHeightForWidth() else 0
        high = max(high, content.sizeHint().height())
        self.panel.setFixedSize(QSize(_WIDE_PX + 24, min(_MOST_HIGH_PX, high) + 4))

    def _row(self, text: str, detail: str, act: Callable[[], None]) -> QHBoxLayout:
        """A sentence, its figures in the tip, and the button that shows its cases."""
        words = named(PlainLabel(text, wrap=True), tip=detail)
        link = tool_button("Show", f"Show: {text}", "Shows these cases in every view.")
        link.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        link.clicked.connect(lambda _: self._follow(act))
        self.links.append(link)
        row = lay(QHBoxLayout(), (words, 1))
        row.addWidget(link, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _follow(self, act: Callable[[], None]) -> None:
        self.panel.hide()
        act()


def _share(rows: int, cases: int) -> str:
    """`3 of 14 cases`, `all 14 cases`, `the only case`."""
    if rows < cases:
        return f"{rows:,} of {cases:,} cases"
    return "the only case" if cases == 1 else f"all {cases:,} cases"


_RIGHT = Qt.TextElideMode.ElideRight


def _heading(text: str) -> QLabel:
    label = PlainLabel(text)
    font = label.font()
    font.setBold(True)
    label.setFont(font)
    return label
