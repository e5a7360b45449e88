"""Any figure of the table against any setting that is a number, with 95 % intervals."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.formatting.text import CLOCK_TEXT, significant
from app.gui.look.choice import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.case_spots import case_spot, figure_text
from app.gui.plots.legend import Entry
from app.gui.plots.model_grid import ModelGrid, Point
from app.gui.plots.scales import Scale, scale_at, scale_of
from app.gui.plots.style import clocks_text, hollow_entry, series_styles
from app.insights.quality import standing
from app.plot_data.series import interval_columns, number, ranked
from app.plot_data.settings import Line, figures, lines, numeric_settings


class AgainstView(ModelGrid):
    """A grid of models; in each, a line for whatever differs beside the setting along x."""

    title = "Against"
    hint = "Any figure of the table against any size, option or axis of the sweep that is a number."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure_choice = Choice("Figure", {}, "Which column of results.csv goes up.")
        self.over_choice = Choice(
            "Against", {}, "Which size, option or axis of the sweep goes across."
        )
        self.add_controls(self.figure_choice, self.over_choice)

    def draw(self) -> str:
        shown = ranked(self.series)
        self.over_choice.set_texts(numeric_settings(shown))
        self.figure_choice.set_texts(figures(shown))
        column, over = self.figure_choice.value, self.over_choice.value
        found = [line for line in lines(shown, over) if _values(line, column)]
        self.reset()
        if not found:
            self.canvas.setMinimumHeight(0)
            return (
                "Nothing that varies here is a number: measure several sizes, threads or values "
                "of an option, such as --batch 1,2,4."
            )
        across = scale_at([x for line in found for x, _ in line.points], over)
        up = scale_of([value for line in found for value in _values(line, column)], column)
        firsts = {line.name: line.points[0][1] for line in found}
        look = series_styles(list(firsts.values()), self.theme)
        styles = {name: look[one.key].of_line() for name, one in firsts.items()}
        models = list(dict.fromkeys(line.model for line in found))
        self.make_room(models)
        names = self.over_choice.currentText(), self.figure_choice.currentText()
        for place, model in enumerate(models):
            plot = self.panel(place, models, across.axis("bottom"), up.axis("left"), *names)
            for line in found:
                if line.model == model:
                    points = self._points(line, across, up)
                    self.line(plot, points, styles[line.name])
            plot.autoRange(padding=0.08)
        cases = [one for line in found for _, one in line.points]
        self.show_legend(
            [
                Entry(f"{name} ({CLOCK_TEXT[firsts[name].clock]})", style.pen(1.8), symbol="o")
                for name, style in styles.items()
            ]
            + hollow_entry(cases, self.theme, dots=True)
        )
        self.show_heading(f"{names[1]} against {names[0].lower()}", clocks_text(cases))
        return ""

    def _points(self, line: Line, across: Scale, up: Scale) -> list[Point]:
        column, name = self.figure_choice.value, self.figure_choice.currentText()
        points = []
        for x, one in line.points:
            value = number(one, column)
            if value is None:
                continue
            ends = [number(one, end) for end in interval_columns(column)]
            interval = (up.place(ends[0]), up.place(ends[1])) if ends[0] and ends[1] else None
            at, height = across.place(x), up.place(value)
            told = figure_text(one, column, name) if _has_unit(column) else f"{name} {value:g}"
            over = f"{self.over_choice.currentText()} {significant(x, 6)}"
            spot = case_spot(one, at, height, (over, told))
            points.append(Point(at, height, interval, standing(one) == "sound", spot))
        return points

    def table(self) -> Table:
        shown = ranked(self.series)
        column, over = self.figure_choice.value, self.over_choice.value
        header = ["model", "line", "clock", over, column, *interval_columns(column)]
        return header, [
            [line.model, line.name, one.clock, x, *(number(one, name) for name in header[4:])]
            for line in lines(shown, over)
            for x, one in line.points
            if number(one, column) is not None
        ]


def _values(line: Line, column: str) -> list[float]:
    return [value for _, one in line.points if (value := number(one, column)) is not None]


def _has_unit(column: str) -> bool:
    """Whether a figure is a time or a rate, which are told with their units."""
    return column.endswith(("_us", "_per_s"))
