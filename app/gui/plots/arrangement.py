"""Arrangement of the series of a page, and the baselines behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtGui import QColor

from app.gui.look.theme import Theme, mixed
from app.gui.plots.legend import Entry
from app.gui.plots.style import ColorTable, SeriesStyle, series_styles
from app.plot_data.series import Baseline, Series


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Keys of series: those that are hidden, those that come first, the one that others fade for.

    `color_by` is the facet whose values have a hue each, "" for what tells most. `listed` says
    that a list beside the plot names the series, so that the legend need not. `baselines` are
    drawn in grey behind the series that they have something beside. `table` has the colours of
    all cases of the run; without it those of a plot have colours of their own.
    """

    hidden: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    lit: str | None = None
    color_by: str = ""
    listed: bool = False
    baselines: tuple[Baseline, ...] = ()
    table: ColorTable | None = None

    def drawn(self, series: Sequence[Series]) -> tuple[Series, ...]:
        """Those that are not hidden, in their order."""
        return tuple(
            case_series
            for case_series in self.ordered(series)
            if case_series.key not in self.hidden
        )

    def ordered(self, series: Sequence[Series]) -> tuple[Series, ...]:
        """Those of `order` first; the others as they come."""
        places = {key: place for place, key in enumerate(self.order)}
        return tuple(
            sorted(series, key=lambda case_series: places.get(case_series.key, len(places)))
        )

    def styles(self, series: Sequence[Series], theme: Theme) -> dict[str, SeriesStyle]:
        """How each looks: the same whichever of them are hidden."""
        styles = series_styles(series, theme, self.color_by, self.table)
        if self.lit not in styles:
            return styles
        return {
            key: style if key == self.lit else style.faded(theme) for key, style in styles.items()
        }


@dataclass(frozen=True, slots=True)
class Behind:
    """What `baseline` has beside the series of this key, under a key that no case has."""

    key: str
    baseline: Baseline
    series: Series
    style: SeriesStyle


def behind(
    series: Sequence[Series], how: Arrangement, theme: Theme, *, each: bool = False
) -> list[Behind]:
    """Of each baseline what is beside these, and of the lit series alone while one is lit.

    Where it is the same for several it is told once, or with `each` of them.
    """
    background: list[Behind] = []
    lit_series = [
        case_series for case_series in series if how.lit in (None, case_series.key)
    ] or list(series)
    for place, baseline in enumerate(how.baselines):
        style = SeriesStyle(grey(place, len(how.baselines), theme), simulated=False)
        texts: set[str] = set()
        for case_series in lit_series:
            counterpart = baseline.counterpart(case_series)
            if counterpart is None or not counterpart.counts.any():
                continue
            copy_key = f"{baseline.key}\n{counterpart.key}" + (
                f"\n{case_series.key}" if each else ""
            )
            if copy_key not in texts:
                texts.add(copy_key)
                copy = replace(counterpart, key=copy_key, label=f"baseline {baseline.name}")
                look = replace(style, simulated=counterpart.clock == "simulated")
                background.append(Behind(case_series.key, baseline, copy, look))
    return background


def behind_entries(background: Sequence[Behind]) -> list[Entry]:
    """One line of a legend for each baseline."""
    looks = {item.baseline.key: item for item in background}
    return [Entry(item.series.label, item.style.pen(1.8)) for item in looks.values()]


def grey(place: int, count: int, theme: Theme) -> QColor:
    """The quiet colour of the theme, paler for each further baseline."""
    return mixed(QColor(theme.muted), QColor(theme.base), 0.15 + 0.45 * place / max(1, count - 1))
