"""Views of searches: the steps of a search over options, the largest batch that ran."""

from __future__ import annotations

from collections.abc import Sequence

from app.capabilities.largest_batch.search import largest_fit, stopped_by
from app.capabilities.tuning.answer import Rung, TuneAnswer, value_text
from app.cases.objectives import Goal
from app.cases.status import FAILED, FITS, Status
from app.gui.look.csv_file import Table
from app.gui.plots.axes import BatchAxis
from app.gui.plots.bars import Bar, BarView
from app.gui.plots.style import SeriesStyle, series_styles
from app.plot_data.series import Series, batch, variants


class LadderView(BarView):
    """A group of bars for each model that was searched."""

    title = "Ladder"
    hint = "What each step of a search over options gained, from the default to the winner."

    def offers(self) -> bool:
        return any(one.ladder and one.ladder.rungs for one in self._fed)

    def draw(self) -> str:
        found = self._found()
        if not found:
            return "Search over options with --tune: when it has ended, its steps are here."
        styles = series_styles([one for one, _ in found], self.theme)
        groups = {
            answer.model: [_bar(rung, answer, styles[one.key]) for rung in answer.rungs]
            for one, answer in found
        }
        goal = Goal.parse(found[0][1].goal)
        label = "Inputs per second" if goal.rate else f"{goal.name} (µs)"
        self.show_groups(
            groups if len(groups) > 1 else {"": next(iter(groups.values()))},
            lambda: None,
            label,
            log=False,
        )
        self.show_legend([])
        said = "; ".join(answer.sentences[0] for _, answer in found if answer.sentences)
        self.show_heading(f"Tuned for {goal}", said)
        return ""

    def table(self) -> Table:
        rows: list[list[object]] = [
            [answer.model, rung.label, rung.value, rung.gain and rung.gain.times,
             rung.total and rung.total.times, rung.error]
            for _, answer in self._found()
            for rung in answer.rungs
        ]  # fmt: skip
        return ["model", "change", "value", "gain", "total", "max_rel_error"], rows

    def _found(self) -> Sequence[tuple[Series, TuneAnswer]]:
        return [(one, one.ladder) for one in self.series if one.ladder and one.ladder.rungs]


def _bar(rung: Rung, answer: TuneAnswer, style: SeriesStyle) -> Bar:
    told = value_text(rung.value, Goal.parse(answer.goal))
    if rung.gain is not None:
        told = f"{told}  {rung.gain} times{_doubt(rung)}"
    return Bar(rung.label, rung.value, told, style)


def _doubt(rung: Rung) -> str:
    if rung.gain is None or rung.gain.verdict == "better":
        return ""
    return f", {rung.gain.verdict}"


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
