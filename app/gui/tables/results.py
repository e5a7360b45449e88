"""The results table: sort, filter, choose columns, compare with a baseline row, copy."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelection, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.analysis.plot_data.series import Baseline, Series
from app.gui.look.controls import Choice, lay, named, tool_button
from app.gui.look.text import Table
from app.gui.look.theme import Theme
from app.gui.tables.columns import delta_columns
from app.gui.tables.filter import FILTER_HINT, GROUP_ROLE, ResultsFilter, ShownRows
from app.gui.tables.model import ResultsModel
from app.gui.tables.view import ColumnsMenu, Kept, table_view
from app.plan.plan import Plan
from app.run_folder.table import neutralise_formula


class ResultsTable(QWidget):
    """The table with its controls; `selected` tells the keys of the chosen rows, `filtered` those
    that the filter lets through (None for all), `baselines_chosen` those with which all rows are
    compared. Its filter stands where `filter_box` is put."""

    title = "Results"
    selected = Signal(list)
    filtered = Signal(object)
    baselines_chosen = Signal(tuple)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.title)
        self.model = ResultsModel()
        self.filter = ResultsFilter(self.model)
        self.filter_box = QLineEdit(placeholderText="Filter: lstm   p99>5   batch=4   status:ok …")
        named(self.filter_box, "Filter", FILTER_HINT).setClearButtonEnabled(True)
        self.filter_box.textChanged.connect(self._filter_changed)
        self.baseline_button = tool_button(
            "Baseline",
            "Use the current row as baseline",
            "Compares all rows with the current one, or no longer: columns of p50 and p99 over its "
            "own have verdicts from pairs of rounds, within the band of the run's plan (Ctrl+B).",
        )
        self.baseline_button.setCheckable(True)
        self.baseline_button.clicked.connect(self.toggle_baseline)
        self._baselines: tuple[Baseline, ...] = ()
        self.row_actions: list[QAction] = []
        self._is_judged = self._quiet = False
        self._passing: frozenset[str] | None = None
        self.count_label = named(QLabel(), muted=True)
        self.group_choice = Choice(
            "Group by",
            {"": "No groups"},
            "Puts rows together that share a setting; a click on a group's row folds it.",
        )
        self.group_choice.currentIndexChanged.connect(self._filter_changed)
        self._selected_before: list[str] = []
        self.filter.modelAboutToBeReset.connect(self._about_to_reset)
        self.view = self._make_view()
        self._rows = ShownRows(self.view, self.filter)
        self._kept_position = Kept(self.view, self.filter)
        self.filter.modelReset.connect(self._after_reset)
        self.columns = ColumnsMenu(self.model, self.view)
        self._lay_out()
        self._add_keys()
        self._count()

    def _make_view(self) -> QTableView:
        view = table_view(self.filter)
        view.customContextMenuRequested.connect(self._context_menu)
        view.clicked.connect(self._fold)
        view.activated.connect(self._fold)
        view.selectionModel().selectionChanged.connect(self._selection_changed)
        view.selectionModel().currentRowChanged.connect(self._show_baseline_state)
        return view

    def _fold(self, index: QModelIndex) -> None:
        group = index.data(GROUP_ROLE)
        if group is not None:
            self.filter.fold(group)

    def _about_to_reset(self) -> None:
        self._selected_before = self.selected_keys()

    def _after_reset(self) -> None:
        """What was selected stays so, as far as it is still shown."""
        self._kept_position.give_back()
        keys_before = self._selected_before
        self._select(set(keys_before), quiet=True)
        if self.selected_keys() != keys_before:
            self.selected.emit(self.selected_keys())
        self._show_baseline_state()

    def _lay_out(self) -> None:
        choices = (self.group_choice, self.baseline_button, self.columns.button)
        parts = ((self.filter_box, 1), (self.count_label, 1), *choices)
        controls = lay(QHBoxLayout(), *parts, margins=(8, 6, 8, 6), spacing=10)
        lay(QVBoxLayout(self), controls, (self.view, 1), spacing=0)

    def _add_keys(self) -> None:
        self.copy_action = QAction("Copy rows as TSV", self)
        self.copy_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        self.copy_action.triggered.connect(self.copy)
        self.baseline_action = QAction("Use as baseline, or no longer", self)
        self.baseline_action.setShortcut(QKeySequence("Ctrl+B"))
        self.baseline_action.triggered.connect(self.toggle_baseline)
        find = QAction("Filter", self)
        find.setShortcut(QKeySequence(QKeySequence.StandardKey.Find))
        find.triggered.connect(self.filter_box.setFocus)
        for action in (self.copy_action, self.baseline_action, find):
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            self.addAction(action)

    def show_plan(self, plan: Plan) -> None:
        """Judge within this run's own band, and show the verdicts on its own baseline's rows."""
        self.model.band = plan.band
        self._is_judged = bool(plan.baseline)
        self.columns.lend(self._is_judged)

    def visible_columns(self) -> list[str]:
        """The keys of the columns that the user has shown, for preferences."""
        return self.columns.visible()

    def set_visible_columns(self, keys: Sequence[str]) -> None:
        """Show these; keys that are no columns are ignored, as they may be of another version."""
        self.columns.show_only(keys)

    def set_series(self, series: Sequence[Series]) -> None:
        """Show these cases; selection, sorting and baseline stay."""
        with self.columns.following():
            self.model.set_series(series)
        self._judge()
        self.columns.lend(self._is_judged)
        self.columns.fit_filled()
        choices = {setting.key: f"By {setting.title.lower()}" for setting in self.model.settings}
        self.group_choice.set_texts({"": "No groups", **choices})
        self.filter.set_group(self.group_choice.value)
        self._show_baseline_state()
        self._count()
        self._tell_filter()

    def filter_by(self, query: str) -> None:
        """Show the rows that this finds; "" for all."""
        self.filter_box.setText(query)

    def apply_theme(self, theme: Theme) -> None:
        self.model.set_theme(theme)

    def selected_keys(self) -> list[str]:
        """The keys of the selected rows, as shown from top to bottom."""
        return [case_series.key for case_series in self._rows.selected()]

    def select(self, keys: Sequence[str] | set[str], *, quiet: bool = False) -> None:
        """Select the rows of these cases, where they are shown, and scroll to the first of them.

        `quiet`: whoever listens to `selected` is not told.
        """
        item_selection = self._select(keys, quiet=quiet)
        if not item_selection.isEmpty():
            self.view.scrollTo(item_selection.indexes()[0])

    def has_rows(self, keys: Sequence[str]) -> bool:
        """Whether the filter lets all of these cases through."""
        return set(keys) <= {case_series.key for case_series in self._rows.all()}

    def _select(self, keys: Sequence[str] | set[str], *, quiet: bool) -> QItemSelection:
        self._quiet = quiet
        selection = self._rows.select(keys)
        self._quiet = False
        return selection

    def toggle_baseline(self, *_: object) -> None:
        """Compare with the current row too; with one that is a baseline, no longer."""
        current, keys = self._rows.current(), self.model.held
        if current is not None:
            others = tuple(key for key in keys if key != current.key)
            self._hold(others if current.key in keys else (*keys, current.key))

    def drop_baselines(self) -> None:
        """Compare with no row."""
        self._hold(())

    def _hold(self, keys: tuple[str, ...]) -> None:
        self.model.set_held(keys)
        self.baselines_chosen.emit(keys)
        self._show_baseline_state()

    def set_baselines(self, baselines: Sequence[Baseline]) -> None:
        """Give columns to each, those of other runs too."""
        selected_keys = set(self.selected_keys())
        self._baselines = tuple(baselines)
        with self.columns.following() as has_changed:
            self._judge()
        self.columns.fit_filled()
        if has_changed():
            self.select(selected_keys)

    def _judge(self) -> None:
        deltas = delta_columns(self._baselines, self.model.series, self.model.band)
        self.model.set_deltas(deltas)

    def _show_baseline_state(self, *_: object) -> None:
        current = self._rows.current()
        self.baseline_button.setChecked(current is not None and current.key in self.model.held)
        self.baseline_button.setEnabled(current is not None)

    def copy(self, *_: object) -> None:
        """The selected rows, or all, with a header: tab-separated raw values."""
        header, rows = self._raw(self._rows.selected() or self._rows.all())
        lines: list[list[object]] = [[*header], *rows]
        clean = ["\t".join(map(_cell, line)) for line in lines]
        QGuiApplication.clipboard().setText("\n".join(clean) + "\n")

    def table(self) -> Table:
        """The rows and columns as shown, as raw values."""
        return self._raw(self._rows.all())

    def _raw(self, cases: Sequence[Series]) -> Table:
        visible_columns = self.columns.shown()
        return [column.key for column in visible_columns], [
            [column.raw(case) for column in visible_columns] for case in cases
        ]

    def current_key(self) -> str:
        """The key of the row that the keyboard is on; "" of none."""
        current = self._rows.current()
        return current.key if current is not None else ""

    def _context_menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([self.baseline_action, self.copy_action, *self.row_actions])
        menu.popup(self.view.viewport().mapToGlobal(point))

    def _filter_changed(self, *_: object) -> None:
        self.filter.set_text(self.filter_box.text())
        self.filter.set_group(self.group_choice.value)
        self._count()
        self._tell_filter()

    def _tell_filter(self) -> None:
        """Which cases are left, where that has changed."""
        is_open = not self.filter_box.text().strip()
        keys = None if is_open else frozenset(s.key for s in self.filter.passing())
        if keys != self._passing:
            self._passing = keys
            self.filtered.emit(keys)

    def _selection_changed(self, *_: QModelIndex) -> None:
        if not self._quiet:
            self.selected.emit(self.selected_keys())

    def _count(self) -> None:
        visible_count, total = self.filter.cases, len(self.model.series)
        visible_text = f"{visible_count:,} of " if visible_count != total else ""
        self.count_label.setText(f"{visible_text}{total:,} {'case' if total == 1 else 'cases'}")


def _cell(value: object) -> str:
    """Of the clipboard: a spreadsheet runs there what it would run in a file."""
    text = "" if value is None else str(value)
    plain = " ".join(text.splitlines()).replace("\t", " ")
    return neutralise_formula(plain) if isinstance(value, str) else plain
