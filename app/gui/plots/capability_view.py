"""The view of a capability: its figures below each other."""

from __future__ import annotations

from app.gui.look.text import Table
from app.gui.plots.figure_view import FigureView
from app.present.answer import CasesView


class CapabilityView(FigureView):
    """Draws what `view` makes of the cases that are shown."""

    def __init__(self, view: CasesView) -> None:
        self.view, self.title, self.hint = view, view.title, view.hint
        super().__init__()

    def offers(self) -> bool:
        return self.view.offers(self._all_series)

    def draw(self) -> str:
        figures = self.view.figures(self.series)
        if not figures:
            return self.view.missing
        looks = self.styles(fading=False)
        lines = [line for figure in figures for line in figure.series]
        styles = {line.name: looks[line.cases[0]].of_line() for line in lines}
        self.show_figures(figures, styles, together=False)
        self.show_legend([])
        self.show_heading(*self.view.heading(self.series))
        return ""

    def table(self) -> Table:
        columns, rows = self.view.table(self.series)
        return [*columns], [[*row] for row in rows]
