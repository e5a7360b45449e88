"""What a view is fed with, and what it draws of that: series as their page arranges them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtWidgets import QWidget

from app.formatting.case_labels import shared_and_distinct
from app.gui.look.theme import LIGHT
from app.gui.plots.arrangement import Arrangement
from app.gui.plots.read.readable import ReadableView
from app.gui.plots.style import SeriesStyle
from app.plot_data.series import Series


class ArrangedView(ReadableView):
    """`series` are those that are drawn, in their order."""

    tells_apart: ClassVar[bool] = False
    """Its series go by what sets them apart, and its heading says what they share."""
    takes_rounds: ClassVar[bool] = False
    """It judges by the rounds of every case, which are read once somebody looks at it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = LIGHT
        self.arrangement = Arrangement()
        self._fed: tuple[Series, ...] = ()
        self._shared, self._called = "", dict[str, str]()

    def mark_dirty(self) -> None:
        raise NotImplementedError

    def set_series(self, series: Sequence[Series]) -> None:
        """Show these; drawn at the next `refresh`."""
        self._fed = tuple(series)
        self._shared, self._called = shared_and_distinct({one.key: one.label for one in series})
        self.series = self.arrangement.drawn(self._fed)
        self.mark_dirty()

    def arrange(self, how: Arrangement) -> None:
        """Show the series so from now on."""
        if how != self.arrangement:
            self.arrangement = how
            self.series = how.drawn(self._fed)
            self.mark_dirty()

    def styles(self) -> dict[str, SeriesStyle]:
        """How each series looks, by key."""
        return self.arrangement.styles(self._fed, self.theme)

    def name_of(self, series: Series) -> str:
        """What sets it apart from the others that are shown; what they share is in the heading."""
        return self._called.get(series.key, series.label)

    def offers(self) -> bool:
        """Whether there is something to draw in this run."""
        return bool(self._fed)

    @property
    def all_hidden(self) -> bool:
        return bool(self._fed) and not self.series

    @property
    def shared(self) -> str:
        """What the heading says of all its series, "" for views that tell it of each."""
        return self._shared if self.tells_apart else ""
