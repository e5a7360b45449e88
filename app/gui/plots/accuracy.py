"""Accuracy against throughput: a point for each case, and the name of each model."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.gui.look.controls import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.figure_view import FigureView, place
from app.gui.plots.marks import NameLayer
from app.gui.plots.ranking import RankedCase
from app.gui.plots.style import clocks_text, hollow_entry, series_entries
from app.plot_data.series import Series, batches, number, of_batch, ranked
from app.report.comparison_figures import accuracy


class AccuracyView(FigureView):
    """Better lies to the upper right: more inputs a second, more of them right."""

    title = "Accuracy"
    hint = "The share of inputs a model gets right against how many it takes a second."
    zooms = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.batch_choice = Choice("Batch", {}, "How many inputs one inference takes at once.")
        self.runtime_choice = Choice(
            "Runtime", {"": "All runtimes"}, "Show the models on one runtime only."
        )
        self.add_controls(self.runtime_choice, self.batch_choice)

    def offers(self) -> bool:
        return any(
            number(case_series, "accuracy_top1") is not None for case_series in self._all_series
        )

    def draw(self) -> str:
        known = self._known()
        runtimes = {case_series.runtime: case_series.runtime for case_series in known}
        self.runtime_choice.set_texts({"": "All runtimes", **runtimes})
        runtime = self.runtime_choice.value
        on_runtime = [case for case in known if runtime in ("", case.runtime)]
        self.batch_choice.set_texts(batches(on_runtime))
        series = of_batch(on_runtime, self.batch_choice.value)
        styles = self.styles(fading=False)
        cases = [RankedCase(case_series, case_series.label) for case_series in series]
        figure = accuracy(cases)
        if figure is None:
            return (
                "No two finished cases whose accuracy was measured or published yet. “Labelled "
                "data” of the sweep measures it."
            )
        (plot,) = self.show_figures([figure], {case.name: styles[case.case_id] for case in cases})
        fastest: dict[str, tuple[float, float, str]] = {}
        for case_series, mark in sorted(
            zip(series, figure.marks, strict=True), key=lambda pair: pair[1].x
        ):
            point = place(figure.x, mark.x), place(figure.y, mark.y)
            fastest[case_series.model] = (*point, case_series.model)
        self.lay(NameLayer(plot, list(fastest.values()), self.theme))
        entries = series_entries(series, self.name_of, styles)
        self.show_legend([*entries, *hollow_entry(series, self.theme, dots=True)])
        batch_text = self.batch_choice.currentText().lower()
        self.show_heading(
            "Accuracy against throughput",
            ", ".join(filter(None, (batch_text, clocks_text(series)))),
        )
        return ""

    def _known(self) -> Sequence[Series]:
        """Those whose rate and accuracy are both known."""
        return [
            case_series
            for case_series in ranked(self.series)
            if number(case_series, "throughput_per_s")
            and number(case_series, "accuracy_top1") is not None
        ]

    def table(self) -> Table:
        columns = ["model", "family", "runtime", "clock", "batch_size"]
        columns += ["throughput_per_s", "accuracy_top1"]
        return columns, [[case.row.get(name) for name in columns] for case in self._known()]
