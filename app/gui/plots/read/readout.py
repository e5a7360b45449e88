"""Text of a reading: percentiles and marked ranges in words, in a box that screen readers speak."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.formatting.text import share, time_text
from app.gui.look.overlay import plot_font
from app.gui.look.theme import Theme
from app.gui.plots.read.reading import Brush, Line, LitSamples, Reading
from app.stats.option_search.ablation import round_name

_MARGIN_PX = 10
_MOST_LINES = 9
_MOST_CHARACTERS = 52
_ASIDE_PX = 16


class Readout(QLabel):
    """Lies over a canvas, where the pointer is not; `plain` is what stands in it, as text."""

    def __init__(self, title: str, parent: QWidget, *, at_left: bool = False) -> None:
        super().__init__(parent)
        self._at_left, self._canvas = at_left, parent
        self.plain = ""
        self.setAccessibleName(f"{title} readout")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setWordWrap(True)
        self.setFont(plot_font(-1.0))
        self.hide()

    def apply_theme(self, theme: Theme) -> None:
        self.setStyleSheet(
            f"QLabel {{ background: {theme.raised}; color: {theme.text}; padding: 4px 8px;"
            f" border: 1px solid {theme.border}; border-radius: 4px; }}"
        )

    def tell(
        self,
        reading: Reading | None,
        marked_lines: Sequence[Line],
        rect: QRect,
        pointer: QPoint | None,
    ) -> None:
        """Show both, or nothing if there is neither; `rect` is where the box may stand."""
        lines = [*_head(reading), *(reading.lines if reading else ()), *marked_lines]
        self.plain = "\n".join(line.text for line in lines)
        self.setAccessibleDescription(self.plain)
        if not lines:
            self.hide()
            return
        left_out = len(lines) - _MOST_LINES
        visible_lines = lines[:_MOST_LINES] if left_out > 0 else lines
        rows = [
            _html(line, bold=not k and reading is not None) for k, line in enumerate(visible_lines)
        ]
        if left_out > 0:
            rows.append(f"and {left_out} more")
        self.setText("<br>".join(rows))
        self._stand(rect, pointer)
        self.show()

    def speak(self) -> None:
        """Have a screen reader say it: what keys or a click have read, not each move."""
        if QAccessible.isActive() and self.plain:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.plain))

    def _stand(self, rect: QRect, pointer: QPoint | None) -> None:
        """Beside the pointer's column, or in its own upper corner where keys read."""
        characters = self.fontMetrics().averageCharWidth() * _MOST_CHARACTERS
        width = min(characters, rect.width() - 2 * _MARGIN_PX)
        self.setMaximumWidth(max(80, width))
        self.adjustSize()
        room_below = self._canvas.height() - rect.top() - 2 * _MARGIN_PX
        self.resize(self.width(), min(self.height(), max(40, room_below)))
        corner = rect.left() + _MARGIN_PX
        if not self._at_left or pointer is not None:
            corner = rect.right() - _MARGIN_PX - self.width()
        if pointer is not None:
            left_px = pointer.x() + _ASIDE_PX
            if left_px > corner:
                left_px = pointer.x() - _ASIDE_PX - self.width()
            corner = max(rect.left() + _MARGIN_PX, min(left_px, corner))
        self.move(corner, rect.top() + _MARGIN_PX)


def _head(reading: Reading | None) -> list[Line]:
    return [Line(reading.title)] if reading else []


def _html(line: Line, *, bold: bool) -> str:
    text = escape(line.text)
    mark = f"<span style='color:{line.color.name()}'>■</span> " if line.color else ""
    return f"<b>{text}</b>" if bold else f"{mark}{text}"


_BETWEEN_WORDS = " · "
_RARE = 0.1
"""Of samples that are no more than this the time between them is told: it may be a period."""
_MOST_ROUNDS, _MOST_SPANS = 6, 3
_PERIODIC = 1.25
"""Times of which the middle half differ by no more than this are a period."""


def rank_text(share_below: float) -> str:
    """The share of samples that are faster, with as many nines as it has: 62.1 %, 99.98 %.

    Cut off and not rounded: 99.996 % are not all.
    """
    if share_below >= 1.0:
        return "100 %"
    nines = -math.log10(1.0 - share_below)
    digits = max(1, math.floor(nines + 1e-9))
    cut = math.floor(share_below * 10.0 ** (digits + 2) + 1e-6) / 10.0**digits
    return f"{cut:.{digits}f} %"


def range_text(low_s: float, high_s: float) -> str:
    """`1.20 to 30.0 ms`, each end in its own unit where these differ."""
    if low_s <= 0.0 or math.isinf(high_s):
        if math.isinf(high_s):
            return f"{time_text(low_s, 4)} and more" if low_s > 0.0 else "all"
        return f"below {time_text(high_s, 4)}"
    low, high = time_text(low_s, 4), time_text(high_s, 4)
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def brush_text(brush: Brush) -> str:
    """What was marked."""
    if not brush.spans:
        return range_text(brush.low_s, brush.high_s)
    spans = dict.fromkeys(
        f"{s.first:,} to {s.last:,} of {round_name(s.round)}" for s in brush.spans
    )
    if len(spans) > _MOST_SPANS:
        return f"{len(spans)} stretches of iterations"
    return f"iterations {', '.join(spans)}"


def short_names(labels: Sequence[str]) -> list[str]:
    """Of `cnn_tiny · ort-cpu · batch 4` what not all of these labels have: a box is narrow."""
    words = [label.split(_BETWEEN_WORDS) for label in labels]
    common_words = set(words[0]).intersection(*words[1:]) if len(words) > 1 else set()
    short_texts = [
        _BETWEEN_WORDS.join(word for word in label_words if word not in common_words)
        for label_words in words
    ]
    return [short or label for short, label in zip(short_texts, labels, strict=True)]


def lit_in_short(highlight: LitSamples) -> str:
    """`412 samples, 0.9 %, 31 % of the time, every 4.00 ms`: beside those of other cases."""
    texts = [f"{_samples(highlight)}, {_part_text(highlight.share)}"]
    texts.append(f"{_part_text(highlight.time_share)} of the time")
    if highlight.share <= _RARE and len(highlight.gaps_s) >= 2:
        texts.append(gaps_text(highlight.gaps_s).partition(",")[0])
    return ", ".join(texts)


def lit_text(highlight: LitSamples) -> str:
    """`412 samples, 0.9 % of the samples, 31 % of the time; 380 in round 2; every 4.00 ms`."""
    if not highlight.samples:
        return "no samples"
    texts = [
        f"{_samples(highlight)}, {_part_text(highlight.share)} of the samples, "
        f"{_part_text(highlight.time_share)} of the time"
    ]
    texts += _by_round([len(lit_of_round) for lit_of_round in highlight.rounds])
    if highlight.share <= _RARE and len(highlight.gaps_s) >= 2:
        texts.append(gaps_text(highlight.gaps_s))
    return "; ".join(texts)


def _samples(highlight: LitSamples) -> str:
    return f"{highlight.samples:,} {'sample' if highlight.samples == 1 else 'samples'}"


def gaps_text(gaps_s: np.ndarray) -> str:
    """The median time from one to the next; where it is no period, half of them lie in a range."""
    first, middle, third = (max(1e-9, q) for q in np.quantile(gaps_s, (0.25, 0.5, 0.75)).tolist())
    if third <= _PERIODIC * first:
        return f"every {time_text(middle)}"
    return f"{time_text(middle)} apart in the median, half of them {range_text(first, third)}"


def _part_text(part: float) -> str:
    """A share that is rounded to all of it only where it is all."""
    return rank_text(part) if 0.9 < part < 1.0 else share(part)


def _by_round(counts: Sequence[int]) -> list[str]:
    """Where most are of one round it is that one, else how many are of each."""
    if len(counts) < 2:
        return []
    most = max(counts)
    if 2 * most > sum(counts):
        return [f"{most:,} in round {counts.index(most) + 1}"]
    if len(counts) <= _MOST_ROUNDS:
        return [f"by round {', '.join(f'{count:,}' for count in counts)}"]
    return [f"{min(counts):,} to {most:,} in a round"]
