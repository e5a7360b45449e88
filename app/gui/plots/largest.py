"""The largest batch that ran: how far each runtime got with each model, and what stopped it."""

from __future__ import annotations

from collections.abc import Sequence

from app.capabilities.largest_batch.search import largest_fit, stopped_by
from app.cases.status import FAILED, FITS, Status
from app.gui.look.csv_file import Table
from app.gui.plots.axes import BatchAxis
from app.gui.plots.bars import Bar
from app.gui.plots.barview import BarView
from app.gui.plots.style import series_styles
from app.plot_data.series import Series, batch, variants


class LargestBatchView(BarView):
    """A row per model and runtime: the largest batch that fitted, and the first failure."""

    title = "Largest batch"
    hint = "The largest batch that ran, and how the next larger one that was tried ended."

    def offers(self) -> bool:
        return any(any(one.status in FAILED for one in group) for _, _, group in self._found())

    def draw(self) -> str:
        found = self._found()
        if not found:
            return (
                "No finished case with a batch size yet. “Largest batch” of the sweep searches it."
            )
        styles = series_styles([group[0] for _, _, group in found], self.theme)
        bars = []
        for model, variant, group in found:
            largest, ending = _reach(group)
            name, style = f"{model}  {variant}", styles[group[0].key].of_line()
            keys = tuple(one.key for one in group if batch(one) == largest)
            bars.append(Bar(name, largest, ending, style, keys=keys))
        self.show_bars(bars, BatchAxis("bottom"), "Batch size", log=True)
        self.show_legend([])
        self.show_heading(
            "Largest batch that ran", "of those that the sweep tried, and what stopped the next one"
        )
        return ""

    def _found(self) -> list[tuple[str, str, list[Series]]]:
        tried = [one for one in self.series if batch(one) is not None]
        names = variants(tried)
        groups: dict[tuple[str, str], list[Series]] = {}
        for one in tried:
            if one.status in FITS | FAILED:
                groups.setdefault((one.model, names[one.key]), []).append(one)
        return [(model, name, group) for (model, name), group in sorted(groups.items())]

    def table(self) -> Table:
        rows: list[list[object]] = []
        for model, variant, group in self._found():
            largest, ending = _reach(group)
            rows.append([model, variant, largest, ending])
        return ["model", "runtime", "largest_batch", "what_stopped_it"], rows


def _reach(group: Sequence[Series]) -> tuple[int | None, str]:
    """The largest batch that ran, and a phrase for what is known beyond it."""
    tried: dict[int, Status] = {
        batch(one) or 0: one.status
        for one in group
        if one.status != "waiting" and one.status != "measuring"
    }
    ran, ending = largest_fit(tried), stopped_by(tried)
    if not ran:
        return None, ending
    return ran, f"{ran}, {ending}"
