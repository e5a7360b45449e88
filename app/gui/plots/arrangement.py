"""How the series of a page are shown: which of them, in which order, in which colours, which lit.

One value for all views of the page, so that a series looks the same in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.gui.look.theme import Theme
from app.gui.plots.style import SeriesStyle, series_styles
from app.plot_data.series import Baseline, Series


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Keys of series: those that are hidden, those that come first, the one that others fade for.

    `color_by` is the facet whose values have a hue each, "" for what tells most. `listed` says
    that a list beside the plot names the series, so that the legend need not. `baselines` are
    drawn in grey behind the series that they have something beside.
    """

    hidden: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    lit: str | None = None
    color_by: str = ""
    listed: bool = False
    baselines: tuple[Baseline, ...] = ()

    def drawn(self, series: Sequence[Series]) -> tuple[Series, ...]:
        """Those that are not hidden, in their order."""
        return tuple(one for one in self.ordered(series) if one.key not in self.hidden)

    def ordered(self, series: Sequence[Series]) -> tuple[Series, ...]:
        """Those of `order` first; the others as they come."""
        places = {key: place for place, key in enumerate(self.order)}
        return tuple(sorted(series, key=lambda one: places.get(one.key, len(places))))

    def styles(self, series: Sequence[Series], theme: Theme) -> dict[str, SeriesStyle]:
        """How each looks: the same whichever of them are hidden."""
        styles = series_styles(series, theme, self.color_by)
        if self.lit not in styles:
            return styles
        return {
            key: style if key == self.lit else style.faded(theme) for key, style in styles.items()
        }
