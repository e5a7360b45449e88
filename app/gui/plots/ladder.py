"""The ladder of a search over options: from the default to the winner, a bar for each step."""

from __future__ import annotations

from collections.abc import Sequence

from app.capabilities.tuning.answer import Rung, TuneAnswer, value_text
from app.cases.objectives import Goal
from app.gui.look.csv_file import Table
from app.gui.plots.bars import Bar
from app.gui.plots.barview import BarView
from app.gui.plots.style import SeriesStyle, series_styles
from app.plot_data.series import Series


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
