"""The answer of a run on one screen: who is fastest at what, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.analysis.comparison.ranking import Fastest, fastest
from app.analysis.insights.quality import quality_of
from app.analysis.plot_data.series import Series, comparison_key, quoted, quoted_us, ranked
from app.cases.objectives import BAND
from app.cases.status import FAILED
from app.formatting.text import (
    CLOCK_TEXT,
    interval,
    is_too_noisy,
    latency,
    rate_text,
    ratio_interval,
    significant,
)
from app.gui.look.overlay import plot_font, write_line
from app.gui.look.text import Table
from app.gui.look.theme import Theme
from app.gui.plots.read.reading import CELL, Spot, SpotReader
from app.gui.plots.scrolled import ScrolledView, TileOverlay
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.verdict import STATES_DIFFER
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
        self._contest_cache: tuple[tuple[Series, ...], list[Fastest]] = (), []

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
        failed_count = sum(case_series.status in FAILED for case_series in self.series)
        notes = [f"{len(ranked(self.series)):,} of {len(self.series):,} cases with valid figures"]
        notes += [f"{failed_count:,} failed"] if failed_count else []
        notes += ["large: p50", "only cases that differ in their runtime and options are compared"]
        self.show_heading("Summary", "; ".join(notes))
        return ""

    def _cards(self, columns: int) -> list[Card]:
        if any(item.status in ("waiting", "measuring") for item in self.series):
            cards = [_leading_card(group) for group in _comparable(self.series)]
            return _place_cards(cards, columns)
        by_id = {item.case.case_id: item for item in self.series}
        contests = self._contests()
        compared_ids = {case_id for contest in contests for case_id in contest.ranking}
        alone = [item for item in ranked(self.series) if item.case.case_id not in compared_ids]
        alone = [item for item in alone if not is_null(item.case.model) and quoted(item, "p50")]
        unread = any(item.timed and item.summary is None for item in self.series)
        cards = [_contest_card(item, by_id, self.band) for item in contests]
        cards += [_single_card(item, unread) for item in alone]
        return _place_cards(cards, columns)

    def _contests(self) -> list[Fastest]:
        """Found once for the same cases: all verdicts of a run are judged together."""
        if self._contest_cache[0] is not self.series:
            series = [
                case_series for case_series in self.series if not is_null(case_series.case.model)
            ]
            self._contest_cache = (
                self.series,
                fastest([case_series.measured for case_series in series], self.band),
            )
        return self._contest_cache[1]

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


def _place_cards(cards: Sequence[Card], columns: int) -> list[Card]:
    return [replace(card, row=k // columns, column=k % columns) for k, card in enumerate(cards)]


def _comparable(series: Sequence[Series]) -> list[list[Series]]:
    """Cases with figures that do the same, the least median first."""
    groups: dict[tuple[object, ...], list[Series]] = {}
    for case_series in ranked(series):
        if quoted(case_series, "p50") is not None and not is_null(case_series.case.model):
            groups.setdefault(comparison_key(case_series), []).append(case_series)
    return [sorted(group, key=quoted_us) for group in groups.values()]


def _leading_card(group: Sequence[Series]) -> Card:
    """Of a run that goes on: nothing is judged before all of its rounds are there."""
    first, *rivals = group
    lead = ""
    if rivals:
        times = significant(quoted_us(rivals[0]) / quoted_us(first))
        lead = f"leads {rivals[0].runtime} by {times}x so far"
    keys = tuple(case_series.key for case_series in group[:2])
    return _card(first.label, first, lead, "judged once the run has ended", keys)


def _contest_card(contest: Fastest, by_id: Mapping[str, Series], band: float) -> Card:
    leader = by_id[contest.ranking[0]]
    verdict, sure = _verdict(contest, band)
    keys = tuple(by_id[case_id].key for case_id in contest.case_ids)
    card = _card(contest.label, leader, verdict, sure, keys)
    if card.is_doubted and contest.parted:
        card = replace(
            card, sure="every other one is slower in this run, whose figures are doubted"
        )
    return replace(card, leader=contest.first, is_sure=contest.parted and not card.is_doubted)


def _single_card(case_series: Series, unread: bool) -> Card:
    """Of a case that nothing is compared with, or not yet: its rivals' rounds are still read."""
    verdict, sure = ("", _READING) if unread else ("nothing to compare with", "")
    return _card(case_series.label, case_series, verdict, sure, (case_series.key,))


def _card(title: str, leader: Series, verdict: str, sure: str, keys: tuple[str, ...]) -> Card:
    clock = f" ({CLOCK_TEXT[leader.clock]})" if leader.clock != "wall" else ""
    figure, details = _figures(leader)
    return Card(
        f"{title}{clock}",
        figure,
        leader.runtime,
        details,
        verdict,
        sure,
        keys,
        is_doubted=quality_of(leader) != "sound",
        is_simulated=leader.clock == "simulated",
    )


def _figures(case_series: Series) -> tuple[str, str]:
    """The p50 in large, and a line with what else the row has."""
    median, tail = quoted(case_series, "p50"), quoted(case_series, "p99")
    parts = []
    if median is not None and median.low_us is not None and median.high_us is not None:
        if is_too_noisy(median.low_us, median.high_us):
            parts.append("p50 too noisy for an interval")
        else:
            parts.append(f"95 %: {interval(median.low_us, median.high_us)}")
    parts += [f"p99 {latency(tail.value_us)}"] if tail is not None else []
    rate = case_series.row.get("throughput_per_s")
    parts += [f"{rate_text(float(rate))} inputs"] if rate else []
    return latency(None if median is None else median.value_us), " · ".join(parts)


def _verdict(contest: Fastest, band: float) -> tuple[str, str]:
    """By how much it leads whom, and how sure that is."""
    times, limits = significant(contest.times), contest.verdict.interval
    limits_text = f" ({ratio_interval(limits.low, limits.high)})" if limits else ""
    if contest.parted:
        return (
            f"{times}x as fast as {contest.second}{limits_text}",
            "sure: every other one is slower",
        )
    if contest.verdict.word == "same":
        return (
            f"same as {contest.second} within {100 * band:g} %{limits_text}",
            "sure: no difference",
        )
    lead = f"leads {contest.second} by {times}x{limits_text}"
    if contest.rounds < MINIMUM_ROUNDS:
        return (
            lead,
            f"unsure: {contest.rounds} rounds that compare, {MINIMUM_ROUNDS} or more can decide",
        )
    if contest.verdict.reason == STATES_DIFFER:
        return lead, f"undecided: {contest.verdict.detail}"
    if contest.needed:
        return lead, f"undecided: about {contest.needed} rounds may decide"
    return lead, "undecided: too noisy for any sensible number of rounds"


def _spot(card: Card) -> Spot:
    lines = tuple(filter(None, (f"p50 {card.figure}", card.details, card.verdict, card.sure)))
    title = f"{card.heading}: {card.leader}"
    return Spot(card.column, card.row, title, lines, card.keys, reach=CELL)


class CardLayer(TileOverlay):
    """The cards: a large figure, its name beside it, and three quieter lines."""

    def __init__(self, plot: pg.PlotItem, cards: Sequence[Card], theme: Theme) -> None:
        super().__init__(plot, theme)
        self.cards = tuple(cards)

    def draw(self, painter: QPainter) -> None:
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
        text_area = QRectF(inner)
        bottom = _line(painter, inner, card.figure, large, theme.text)
        text_area.setLeft(inner.left() + wide + 12)
        text_area.setBottom(bottom)
        doubt = "  (doubted, see warnings)" if card.is_doubted else ""
        _line(painter, text_area, f"{card.leader}{doubt}", plot_font(1.0), theme.text, centred=True)
        inner.setTop(bottom + 2)
        inner.setTop(_line(painter, inner, card.details, plot_font(), theme.muted) + 2)
        inner.setTop(_line(painter, inner, card.verdict, plot_font(), theme.text))
        tone = theme.good if card.is_sure else theme.muted
        _line(painter, inner, card.sure, plot_font(), tone)


def _line(
    painter: QPainter, room: QRectF, text: str, font: QFont, color: str, *, centred: bool = False
) -> float:
    """Write a line at the top of the room, elided to its width; where it ends."""
    line = QRectF(room)
    if not centred:
        line.setHeight(QFontMetricsF(font).height())
    write_line(painter, line, text, font, color)
    return line.bottom()
