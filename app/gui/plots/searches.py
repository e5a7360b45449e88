"""Views of searches: the steps of a search over options, the largest batch that ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.capabilities.largest_batch.search import largest_fit, stopped_by
from app.capabilities.tuning.answer import Rung, TuneAnswer, value_text
from app.cases.objectives import Goal
from app.cases.status import FAILED, FITS, Status
from app.gui.look.text import Table
from app.gui.plots.figure_view import FigureView
from app.plot_data.series import Series, batch, variants
from app.present.figure import Axis, Figure, Mark
from app.present.figure import Series as Marks


class LadderView(FigureView):
    """A group of bars for each model that was searched."""

    title = "Ladder"
    hint = "What each step of a search over options gained, from the default to the winner."

    def offers(self) -> bool:
        return any(
            case_series.ladder and case_series.ladder.rungs for case_series in self._all_series
        )

    def draw(self) -> str:
        answers = self._find_results()
        if not answers:
            return "Search over options with --tune: when it has ended, its steps are here."
        goal = Goal.parse(answers[0][1].goal)
        label = "Inputs per second" if goal.rate else f"{goal.name} (µs)"
        looks = self.styles(fading=False)
        styles = {case_series.key: looks[case_series.key] for case_series, _ in answers}
        figures = [
            Figure(
                answer.model,
                Axis(label, "per_s" if goal.rate else ""),
                Axis(names=tuple(rung.label for rung in answer.rungs)),
                (Marks(case_series.key, tuple(_steps(answer)), "bars"),),
            )
            for case_series, answer in answers
        ]
        self.show_figures(figures, styles, together=False)
        self.show_legend([])
        text = "; ".join(answer.sentences[0] for _, answer in answers if answer.sentences)
        self.show_heading(f"Tuned for {goal}", text)
        return ""

    def table(self) -> Table:
        rows: list[list[object]] = [
            [answer.model, rung.label, rung.value, rung.gain and rung.gain.times,
             rung.total and rung.total.times, rung.error]
            for _, answer in self._find_results()
            for rung in answer.rungs
        ]  # fmt: skip
        return ["model", "change", "value", "gain", "total", "max_rel_error"], rows

    def _find_results(self) -> Sequence[tuple[Series, TuneAnswer]]:
        return [
            (case_series, case_series.ladder)
            for case_series in self.series
            if case_series.ladder and case_series.ladder.rungs
        ]


def _steps(answer: TuneAnswer) -> Iterator[Mark]:
    for row, rung in enumerate(answer.rungs):
        text = value_text(rung.value, Goal.parse(answer.goal))
        if rung.gain is not None:
            text = f"{text}  {rung.gain} times{_doubt(rung)}"
        yield Mark(rung.value or 0.0, row, text, label=text)


def _doubt(rung: Rung) -> str:
    if rung.gain is None or rung.gain.verdict == "better":
        return ""
    return f", {rung.gain.verdict}"


class LargestBatchView(FigureView):
    """A row per model and runtime: the largest batch that fitted, and the first failure."""

    title = "Largest batch"
    hint = "The largest batch that ran, and how the next larger one that was tried ended."

    def offers(self) -> bool:
        return any(
            any(case_series.status in FAILED for case_series in group)
            for _, _, group in self._find_results()
        )

    def draw(self) -> str:
        groups = self._find_results()
        if not groups:
            return (
                "No finished case with a batch size yet. “Largest batch” of the sweep searches it."
            )
        looks, styles, marks = self.styles(fading=False), {}, []
        sizes = {size for *_, group in groups if (size := _reach(group)[0])} or {1}
        for row, (model, variant, group) in enumerate(groups):
            largest, ending = _reach(group)
            name = f"{model}  {variant}"
            styles[name] = looks[group[0].key].of_line()
            keys = tuple(case_series.key for case_series in group if batch(case_series) == largest)
            mark = Mark(largest or min(sizes), row, ending, label=ending)
            marks.append(Marks(name, (mark,), symbol="circle" if largest else "none", cases=keys))
        ticks = tuple((size, str(size)) for size in sorted(sizes))
        figure = Figure(
            "", Axis("Batch size", "", "log", ticks=ticks), Axis(names=tuple(styles)), tuple(marks)
        )
        self.show_figures([figure], styles)
        self.show_legend([])
        self.show_heading(
            "Largest batch that ran", "of those that the sweep tried, and what stopped the next one"
        )
        return ""

    def _find_results(self) -> list[tuple[str, str, list[Series]]]:
        series = [case_series for case_series in self.series if batch(case_series) is not None]
        names = variants(series)
        groups: dict[tuple[str, str], list[Series]] = {}
        for case_series in series:
            if case_series.status in FITS | FAILED:
                groups.setdefault((case_series.model, names[case_series.key]), []).append(
                    case_series
                )
        return [(model, name, group) for (model, name), group in sorted(groups.items())]

    def table(self) -> Table:
        rows: list[list[object]] = []
        for model, variant, group in self._find_results():
            largest, ending = _reach(group)
            rows.append([model, variant, largest, ending])
        return ["model", "runtime", "largest_batch", "what_stopped_it"], rows


def _reach(group: Sequence[Series]) -> tuple[int | None, str]:
    """The largest batch that ran, and a phrase for what is known beyond it."""
    status_by_batch: dict[int, Status] = {
        batch(case_series) or 0: case_series.status
        for case_series in group
        if case_series.status != "waiting" and case_series.status != "measuring"
    }
    ran, ending = largest_fit(status_by_batch), stopped_by(status_by_batch)
    if not ran:
        return None, ending
    return ran, f"{ran}, {ending}"
