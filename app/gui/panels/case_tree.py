"""All cases of a run as a tree beside the views, and the baselines below them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.analysis.insights.quality import quality_of
from app.analysis.plot_data.series import Baseline, Series, facets, quoted
from app.formatting.case_labels import shared_and_distinct
from app.formatting.text import CLOCK_TEXT, is_too_noisy, share, time_text
from app.gui.look.controls import Choice, lay, named, tool_button
from app.gui.look.text import PlainLabel
from app.gui.look.theme import LIGHT, Theme, swatch
from app.gui.panels.case_rows import CaseRows, Line
from app.gui.plots.marks import percentiles
from app.gui.plots.style import Arrangement, ColorTable, SeriesStyle, grey, legend_text, remark

_MOST_ROWS = 4
"""More of them are scrolled to: the room is the series'."""


class BaselineList(QWidget):
    """What the series are held against, in the greys in which it is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self._baselines: tuple[Baseline, ...] = ()
        self._theme: Theme | None = None
        tip = "What the series are held against."
        self.rows = named(QListWidget(), "Baselines", tip, objectName="baselines")
        self.rows.setUniformItemSizes(True)
        self.rows.setTextElideMode(Qt.TextElideMode.ElideLeft)
        self.rows.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.rows.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        heading = named(QLabel("&Baselines, in grey"), muted=True)
        heading.setBuddy(self.rows)
        lay(QVBoxLayout(self), heading, self.rows, spacing=4)

    def show_baselines(self, baselines: Sequence[Baseline], theme: Theme) -> None:
        """List these."""
        names_before = [baseline.name for baseline in self._baselines], self._theme
        self._baselines, self._theme = tuple(baselines), theme
        if names_before == ([baseline.name for baseline in baselines], theme):
            return
        self.rows.clear()
        for place, baseline in enumerate(baselines):
            color = grey(place, len(baselines), theme)
            item = QListWidgetItem(swatch(color, QColor(theme.base)), baseline.name)
            item.setToolTip(baseline.name)
            self.rows.addItem(item)
        rows = min(_MOST_ROWS, self.rows.count())
        self.rows.setFixedHeight(rows * self.rows.sizeHintForRow(0) + 2 * self.rows.frameWidth())


_BY_ITSELF = "What differs"
_LEAST_LINES = 17
"""Its least width in heights of a line of text."""


class CaseTree(QWidget):
    """`arranged` carries the Arrangement whenever it is another, `colored` by key the colour and
    the brush of each series, `selected` the keys of the selected cases."""

    title = "Cases"
    arranged = Signal(object)
    colored = Signal(object)
    selected = Signal(list)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.title)
        self.setMinimumWidth(_LEAST_LINES * self.fontMetrics().height())
        self.arrangement = Arrangement()
        self.theme = LIGHT
        self._series: tuple[Series, ...] = ()
        self._cases: tuple[Series, ...] = ()
        self._known: dict[str, tuple[Series, SeriesStyle, str, Line]] = {}
        self._last_styles: object = None
        self.color_choice = Choice(
            "Colour by",
            {"": _BY_ITSELF},
            "What has a hue for each of its values; shades are for the rest.",
        )
        self.color_choice.currentIndexChanged.connect(self._recolor)
        self.all_button = tool_button("All", "Show all series", "Shows all series again.")
        self.all_button.clicked.connect(self.show_all)
        self.rows = CaseRows()
        self.rows.checked.connect(self._check)
        self.rows.pointed.connect(self._light)
        self.rows.selected.connect(self.selected)
        self.shared_label = named(PlainLabel(wrap=True), muted=True)
        self.baselines = BaselineList()
        self.baselines.hide()
        self._lay_out()

    def _lay_out(self) -> None:
        label = QLabel("Colour &by")
        label.setBuddy(self.color_choice)
        controls = lay(QHBoxLayout(), label, (self.color_choice, 1), self.all_button, spacing=6)
        parts = (controls, self.shared_label, (self.rows, 1), self.baselines)
        self._column = lay(QVBoxLayout(self), *parts, margins=(6, 6, 6, 6), spacing=6)

    def set_series(self, series: Sequence[Series]) -> None:
        """List these; what was hidden stays so where it is still there."""
        self._series = tuple(series)
        self._set_table()
        self._show()

    def set_cases(self, cases: Sequence[Series]) -> None:
        """List all of these; those that plots do not show have an empty swatch."""
        self._cases = tuple(cases)
        self._set_table()
        self._show()

    def _set_table(self) -> None:
        """Give every case of the run its colour, once for all views."""
        cases = self._cases or self._series
        keys = [case_series.key for case_series in cases]
        table = self.arrangement.table
        if table is not None and keys == [case_series.key for case_series in table.cases]:
            return
        self._arrange(table=ColorTable(cases))
        self.color_choice.set_texts(
            {"": _BY_ITSELF, **{name: name.capitalize() for name in facets(cases)}}
        )
        if self.color_choice.value != self.arrangement.color_by:
            self._recolor()

    def add_filter(self, box: QWidget) -> None:
        """Put the filter, which holds for all views, above the rows."""
        self._column.insertWidget(0, box)

    def set_filter(self, keys: frozenset[str] | None) -> None:
        """List the cases that the filter finds; None for all."""
        self.rows.set_filter(keys)

    def select(self, keys: Sequence[str]) -> None:
        """Show these rows as selected, without telling of it."""
        self.rows.select(keys)

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.baselines.show_baselines(self.arrangement.baselines, theme)
        self._show()

    def show_all(self) -> None:
        """Hide none."""
        self._arrange(hidden=frozenset())

    def set_listed(self, listed: bool) -> None:
        """Whether somebody sees this list, so that legends need not repeat it."""
        self._arrange(listed=listed)

    def set_baselines(self, baselines: Sequence[Baseline]) -> None:
        """Name those that the series are held against, and have them drawn behind."""
        self.baselines.show_baselines(baselines, self.theme)
        self.baselines.setVisible(bool(baselines))
        self._arrange(baselines=tuple(baselines))

    def _check(self, key: str, shown: bool) -> None:
        hidden_keys = self.arrangement.hidden
        self._arrange(hidden=hidden_keys - {key} if shown else hidden_keys | {key})

    def _light(self, key: str) -> None:
        self._arrange(lit=key or None)

    def _recolor(self, *_: object) -> None:
        self._arrange(color_by=self.color_choice.value)

    def _arrange(self, **changes: object) -> None:
        arrangement = replace(self.arrangement, **changes)  # type: ignore[arg-type]
        if arrangement != self.arrangement:
            self.arrangement = arrangement
            self._show()
            self.arranged.emit(arrangement)

    def _show(self) -> None:
        arrangement = replace(self.arrangement, lit=None)
        fresh = {case_series.key: case_series for case_series in self._series}
        all_series = tuple(
            fresh.pop(case_series.key, case_series) for case_series in self._cases
        ) + tuple(fresh.values())
        plotted_keys = {case_series.key for case_series in self._series}
        styles = {
            key: style if key in plotted_keys else replace(style, standing="doubted")
            for key, style in arrangement.styles(all_series, self.theme).items()
        }
        shared_text, names = shared_and_distinct(
            {case_series.key: case_series.label for case_series in all_series}
        )
        self.shared_label.setText(shared_text)
        self.shared_label.setVisible(bool(shared_text))
        clocks = len({case_series.clock for case_series in all_series}) > 1
        is_grouped = len({case_series.model for case_series in all_series}) > 1
        lines = [self._line(s, names[s.key], styles, clocks, is_grouped) for s in all_series]
        self.rows.show_lines(lines, self.theme)
        self.all_button.setEnabled(bool(self.arrangement.hidden))
        if styles != self._last_styles:
            self._last_styles = styles
            self.colored.emit({key: (style.color, style.fill()) for key, style in styles.items()})

    def _line(
        self,
        case_series: Series,
        name: str,
        styles: Mapping[str, SeriesStyle],
        clocks: bool,
        grouped: bool,
    ) -> Line:
        """As it was, where nothing of the case has changed: of thousands few do at a time."""
        style = styles[case_series.key]
        is_shown = case_series.key not in self.arrangement.hidden
        stamp = f"{name} {clocks} {grouped} {is_shown}"
        cache_entry = self._known.get(case_series.key)
        if (
            cache_entry is not None
            and cache_entry[0] is case_series
            and cache_entry[1:3] == (style, stamp)
        ):
            return cache_entry[3]
        short_name = name.removeprefix(f"{case_series.model} · ") if grouped else name
        line = Line(
            case_series.key,
            short_name,
            _remark(case_series, clocks),
            *_figures(case_series),
            legend_text(case_series),
            style,
            is_shown,
            _certainty(case_series),
            case_series.model if grouped else "",
        )
        self._known[case_series.key] = case_series, style, stamp, line
        return line


def _certainty(series: Series) -> str:
    """`3 %`: by so much the p50 may be more or less; why that is not known."""
    median = quoted(series, "p50")
    if median is None:
        return ""
    if not median.low_us or not median.high_us:
        return "" if series.clock == "simulated" else "?"
    if is_too_noisy(median.low_us, median.high_us):
        return "noisy"
    return share(math.sqrt(median.high_us / median.low_us) - 1.0)


def _remark(series: Series, clocks: bool) -> str:
    """In the little room of the list only what neither its swatch nor most others say: hollow is
    doubted, and the wall clock the usual one. The whole text has both."""
    clock_text = CLOCK_TEXT[series.clock] if clocks and series.clock != "wall" else ""
    why = "" if quality_of(series) == "doubted" and series.status == "ok" else remark(series)
    return f"{clock_text}{why}".removeprefix(", ")


def _figures(series: Series) -> tuple[str, str]:
    """p50 and p99 with their units, a tilde before those that come from bins."""
    by_name = {percentile.name: percentile for percentile in percentiles(series)}
    texts = []
    for name in ("p50", "p99"):
        percentile = by_name.get(name)
        tilde = "~" if percentile is not None and percentile.provisional else ""
        texts.append("" if percentile is None else f"{tilde}{time_text(percentile.seconds)}")
    return texts[0], texts[1]
