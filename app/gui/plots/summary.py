"""The answer of a run on one screen: who is fastest at what, by how much, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.cases.objectives import BAND
from app.cases.status import FAILED
from app.comparison.ranking import Fastest, fastest
from app.formatting.text import (
    CLOCK_TEXT,
    interval,
    is_too_noisy,
    latency,
    rate_text,
    ratio_interval,
    significant,
)
from app.gui.look.csv_file import Table
from app.gui.look.overlay import plot_font
from app.gui.look.theme import Theme
from app.gui.plots.read.reading import CELL, Spot, SpotReader
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.tile_grid import TileOverlay
from app.insights.quality import quality_of
from app.plot_data.series import Series, comparison_key, quoted, ranked
from app.stats.intervals import MINIMUM_ROUNDS
from exporters.model_names import is_null

_LEAST_WIDTH, _HEIGHT, _AROUND_PX = 380, 132, 80
_READING = "reading its rounds…"
_PADDING = 14


@dataclass(frozen=True, slots=True)
class Card:
    """One comparison: the leader's `figure` in large, its name, what else is known of it, the
    verdict, and `sure`, how far it can be relied on. `keys` are the leader and who is nearest."""

    heading: str
    figure: str
    leader: str
    details: str
    verdict: str
    sure: str
    keys: tuple[str, ...]
    row: int = 0
    column: int = 0
    is_sure: bool = False
    is_doubted: bool = False
    is_simulated: bool = False


class SummaryView(ScrolledView):
    """A card for each set of cases that can be compared, in the plan's order."""

    title = "Summary"
    hint = "Of each model the fastest runtime, by how much it leads, and how sure that is."
    takes_rounds = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.band = BAND
        self._found: tuple[tuple[Series, ...], list[Fastest]] = (), []

    def draw(self) -> str:
        cards = self._cards(max(1, self.width() // _LEAST_WIDTH))
        if not cards:
            return "No finished case yet. The fastest runtime of each model appears here."
        self.reset()
        columns = 1 + max(card.column for card in cards)
        rows = 1 + cards[-1].row
        self.canvas.setMinimumHeight(_AROUND_PX + _HEIGHT * rows)
        plot = self.add_plot(0, 0)
        for side in ("left", "bottom"):
            plot.hideAxis(side)
        plot.showGrid(x=False, y=False)
        plot.setMaximumHeight(_HEIGHT * rows)
        box = plot.getViewBox()
        box.setMouseEnabled(False, False)
        box.invertY(True)
        plot.setRange(xRange=(-0.5, columns - 0.5), yRange=(-0.5, rows - 0.5), padding=0)
        self.body.layout.setAlignment(plot, Qt.AlignmentFlag.AlignTop)
        self.lay(CardLayer(plot, cards, self.theme))
        self.let_read(plot, SpotReader([_spot(card) for card in cards]))
        self.show_legend([])
        failed = sum(one.status in FAILED for one in self.series)
        notes = [f"{len(ranked(self.series)):,} of {len(self.series):,} cases with valid figures"]
        notes += [f"{failed:,} failed"] if failed else []
        notes += ["large: p50", "only cases that differ in their runtime and options are compared"]
        self.show_heading("Summary", "; ".join(notes))
        return ""

    def _cards(self, columns: int) -> list[Card]:
        if any(one.status in ("waiting", "measuring") for one in self.series):
            told = [_leading_card(group) for group in _comparable(self.series)]
            return _placed(told, columns)
        by_id = {one.case.case_id: one for one in self.series}
        contests = self._contests()
        compared = {case_id for contest in contests for case_id in contest.ranking}
        alone = [one for one in ranked(self.series) if one.case.case_id not in compared]
        alone = [one for one in alone if not is_null(one.case.model) and quoted(one, "p50")]
        unread = any(one.timed and one.summary is None for one in self.series)
        told = [_contest_card(one, by_id, self.band) for one in contests]
        told += [_single_card(one, unread) for one in alone]
        return _placed(told, columns)

    def _contests(self) -> list[Fastest]:
        """Found once for the same cases: all verdicts of a run are judged together."""
        if self._found[0] is not self.series:
            own = [one for one in self.series if not is_null(one.case.model)]
            self._found = self.series, fastest([one.measured for one in own], self.band)
        return self._found[1]

    def table(self) -> Table:
        header = ["comparison", "leader", "p50", "details", "verdict", "sure"]
        return header, [
            [card.heading, card.leader, card.figure, card.details, card.verdict, card.sure]
            for card in self._cards(1)
        ]

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.size().width() // _LEAST_WIDTH != event.oldSize().width() // _LEAST_WIDTH:
            self.mark_dirty()  # more or fewer cards fit beside each other


def _placed(cards: Sequence[Card], columns: int) -> list[Card]:
    return [
        replace(card, row=place // columns, column=place % columns)
        for place, card in enumerate(cards)
    ]


def _comparable(series: Sequence[Series]) -> list[list[Series]]:
    """Cases with figures that do the same, the least median first."""
    groups: dict[tuple[object, ...], list[Series]] = {}
    for one in ranked(series):
        if quoted(one, "p50") is not None and not is_null(one.case.model):
            groups.setdefault(comparison_key(one), []).append(one)
    return [sorted(group, key=_median_us) for group in groups.values()]


def _median_us(series: Series) -> float:
    median = quoted(series, "p50")
    return math.inf if median is None else median.value_us


def _leading_card(group: Sequence[Series]) -> Card:
    """Of a run that goes on: nothing is judged before all of its rounds are there."""
    first, *others = group
    lead = ""
    if others:
        times = significant(_median_us(others[0]) / _median_us(first))
        lead = f"leads {others[0].runtime} by {times}x so far"
    keys = tuple(one.key for one in group[:2])
    return _card(first.label, first, lead, "judged once the run has ended", keys)


def _contest_card(found: Fastest, by_id: Mapping[str, Series], band: float) -> Card:
    leader = by_id[found.ranking[0]]
    verdict, sure = _verdict(found, band)
    keys = tuple(by_id[case_id].key for case_id in found.case_ids)
    card = _card(found.label, leader, verdict, sure, keys)
    return replace(card, leader=found.first, is_sure=found.parted)


def _single_card(one: Series, unread: bool) -> Card:
    """Of a case that nothing is compared with, or not yet: its rivals' rounds are still read."""
    verdict, sure = ("", _READING) if unread else ("nothing to compare with", "")
    return _card(one.label, one, verdict, sure, (one.key,))


def _card(what: str, leader: Series, verdict: str, sure: str, keys: tuple[str, ...]) -> Card:
    clock = f" ({CLOCK_TEXT[leader.clock]})" if leader.clock != "wall" else ""
    figure, details = _figures(leader)
    return Card(
        f"{what}{clock}",
        figure,
        leader.runtime,
        details,
        verdict,
        sure,
        keys,
        is_doubted=quality_of(leader) != "sound",
        is_simulated=leader.clock == "simulated",
    )


def _figures(one: Series) -> tuple[str, str]:
    """The p50 in large, and a line with what else the row has."""
    median, tail = quoted(one, "p50"), quoted(one, "p99")
    parts = []
    if median is not None and median.low_us is not None and median.high_us is not None:
        if is_too_noisy(median.low_us, median.high_us):
            parts.append("p50 too noisy for an interval")
        else:
            parts.append(f"95 %: {interval(median.low_us, median.high_us)}")
    parts += [f"p99 {latency(tail.value_us)}"] if tail is not None else []
    rate = one.row.get("throughput_per_s")
    parts += [f"{rate_text(float(rate))} inputs"] if rate else []
    return latency(None if median is None else median.value_us), " · ".join(parts)


def _verdict(found: Fastest, band: float) -> tuple[str, str]:
    """By how much it leads whom, and how sure that is."""
    times, limits = significant(found.times), found.verdict.interval
    between = f" ({ratio_interval(limits.low, limits.high)})" if limits else ""
    if found.parted:
        return f"{times}x as fast as {found.second}{between}", "sure: every other one is slower"
    if found.verdict.word == "same":
        return f"same as {found.second} within {100 * band:g} %{between}", "sure: no difference"
    lead = f"leads {found.second} by {times}x{between}"
    if found.rounds < MINIMUM_ROUNDS:
        return (
            lead,
            f"unsure: {found.rounds} rounds that compare, {MINIMUM_ROUNDS} or more can decide",
        )
    if found.needed:
        return lead, f"undecided: about {found.needed} rounds may decide"
    return lead, "undecided: too noisy for any sensible number of rounds"


def _spot(card: Card) -> Spot:
    lines = tuple(filter(None, (f"p50 {card.figure}", card.details, card.verdict, card.sure)))
    title = f"{card.heading}: {card.leader}"
    return Spot(card.column, card.row, title, lines, card.keys, reach=CELL)


class CardLayer(TileOverlay):
    """The cards: a large figure, its name beside it, and three quieter lines."""

    def __init__(self, plot: pg.PlotItem, cards: Sequence[Card], theme: Theme) -> None:
        super().__init__(plot)
        self.cards, self._theme = tuple(cards), theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for card in self.in_sight(self.cards):
            room = self.rect_of(card.row, card.column).adjusted(4, 4, -4, -4)
            self._paint_card(painter, card, room)

    def _paint_card(self, painter: QPainter, card: Card, room: QRectF) -> None:
        theme = self._theme
        dash = Qt.PenStyle.DashLine if card.is_simulated else Qt.PenStyle.SolidLine
        painter.setPen(QPen(QColor(theme.border), 1.0, dash))
        painter.setBrush(QColor(theme.window))
        painter.drawRoundedRect(room, 6.0, 6.0)
        inner = room.adjusted(_PADDING, 8, -_PADDING, -8)
        top = _line(painter, inner, card.heading, plot_font(bold=True), theme.text)
        inner.setTop(top + 2)
        large = plot_font(11.0, bold=True)
        wide = QFontMetricsF(large).horizontalAdvance(card.figure)
        beside = QRectF(inner)
        bottom = _line(painter, inner, card.figure, large, theme.text)
        beside.setLeft(inner.left() + wide + 12)
        beside.setBottom(bottom)
        doubt = "  (doubted, see warnings)" if card.is_doubted else ""
        _line(painter, beside, f"{card.leader}{doubt}", plot_font(1.0), theme.text, centred=True)
        inner.setTop(bottom + 2)
        inner.setTop(_line(painter, inner, card.details, plot_font(), theme.muted) + 2)
        inner.setTop(_line(painter, inner, card.verdict, plot_font(), theme.text))
        tone = theme.good if card.is_sure else theme.muted
        _line(painter, inner, card.sure, plot_font(), tone)


def _line(
    painter: QPainter, room: QRectF, text: str, font: QFont, color: str, *, centred: bool = False
) -> float:
    """Write a line at the top of the room, elided to its width; where it ends."""
    painter.setFont(font)
    painter.setPen(QColor(color))
    metrics = QFontMetricsF(painter.font())
    line = QRectF(room) if centred else QRectF(room.topLeft(), room.size())
    if not centred:
        line.setHeight(metrics.height())
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, line.width()))
    painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
    return line.bottom()
