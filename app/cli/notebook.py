"""`graphlap.open(RUN)`: a run folder in a notebook, as dataframes, verdicts and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import warn

from app.analysis.columns.rows import Rows
from app.analysis.comparison.judge import Comparison
from app.analysis.comparison.ranking import fastest
from app.analysis.plot_data.card import card_runs
from app.cases.errors import PlanError, ResultsError
from app.cases.jobs import OperatorTimes
from app.cases.objectives import BAND
from app.present.answer import answers
from app.present.console.answer.document import shown_blocks
from app.present.console.run_summary import verdict_text
from app.present.document import Table
from app.present.figure import Figure
from app.present.html import WIDE
from app.present.report import comparison_figures, execution_figures, figures
from app.present.report.execution_figures import memory, roofline, slowest_operators
from app.present.report.figures import TimedCase, timed_cases
from app.present.svg import svg_document
from app.present.terminal import as_text
from app.run_folder.files import is_path
from app.run_folder.run import Run
from app.runs.exporting.tables import pandas, run_frame, samples_frame
from app.runs.following.state import case_operators
from app.runs.history.run_comparison import (
    RunSide,
    compare_runs,
    history_for,
    reject_same_run,
    side_of,
)
from app.runs.union import read_runs
from exporters.types import GraphlapError

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 80
_BRIEF = ("model", "runtime", "batch_size", "latency_p50_us", "latency_p99_us", "status")
_FASTEST = ("what", "first", "second", "times", "told_apart", "verdict", "sentence")
_COMPARED_COLUMNS = (
    "case",
    "percentile",
    "first_us",
    "second_us",
    "ratio",
    "ratio_ci_low",
    "ratio_ci_high",
    "verdict",
    "why",
    "confidence",
    "reason",
    "clock_mhz",
)


def open(path: str | Path, *others: str | Path) -> OpenedRun:
    """The run in a folder, as far as it is now, or those in several as one, each given as a path
    or as `NAME=PATH` with a name for its host; ResultsError if there is none. What is damaged is
    left out and warned of.

    >>> run = graphlap.open("runs/nets")
    >>> run.rows.sort_values("latency_p50_us")
    """
    for one in (path, *others):
        if not is_path(one):
            raise ResultsError(f"{one!r} is no path", "Give the folder of a run")
    run, damage = read_runs([str(one) for one in (path, *others)])
    for sentence in damage:
        warn(sentence, stacklevel=2)
    return OpenedRun(run)


class DrawnFigure:
    """A figure of a run: `figure` is its data, a notebook shows it as a picture."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def save(self, path: str | Path) -> Path:
        """Write the picture as SVG; PlanError for a name with another ending."""
        if not is_path(path) or Path(path).suffix.lower() != ".svg":
            raise PlanError(f"{path!r} is no name of an SVG file", "Give a name such as p50.svg")
        Path(path).write_bytes(svg_document([self.figure], WIDE))
        return Path(path)

    def _repr_svg_(self) -> str:
        """What a notebook shows of it."""
        return svg_document([self.figure], WIDE).decode("utf-8")


class OpenedRun:
    """One run as it was when it was opened.

    A figure is of all cases that were timed, or of those that `cases` names by their ids, one or
    several. ResultsError for a case that the run does not have, or where there is nothing to draw.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.measured = tuple(Rows().measured(run))
        self.exit_code: int | None = None
        """Of a run that this program has measured: 0, or what `graphlap run` would return."""

    def summary(self) -> str:
        """What `graphlap show` prints of the run."""
        return as_text(shown_blocks(self.run, self.measured, _WIDTH), _WIDTH)

    def __repr__(self) -> str:
        """The beginning of the summary, up to the figures, and the folder."""
        blocks = list(shown_blocks(self.run, self.measured, _WIDTH))
        tables = [place for place, block in enumerate(blocks) if isinstance(block, Table)]
        return as_text(blocks[: tables[0] + 1 if tables else 1], _WIDTH) + " ".join(
            map(str, self.run.paths)
        )

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of `results.full.csv`, one for each case, with the columns' own types."""
        return run_frame(self.run, [measurement.row for measurement in self.measured])

    def samples(self, case_id: str = "", warmup: bool = False) -> pd.DataFrame:
        """One line for each run of all cases, or of one: case_id, round, phase, lane, and in
        nanoseconds scheduled_ns, started_ns, finished_ns and latency_ns.

        `warmup` adds the runs that do not count.
        """
        self._refuse_unknown([case_id] if case_id else [])
        return samples_frame(self.run, case_id, warmup)

    def compare(self, before: OpenedRun | str | Path, band: float = BAND) -> pd.DataFrame:
        """This run against another: a line for each case and percentile that both measured.

        first_us is the other's, in microseconds and of a throughput in inputs a second, ratio is
        second_us over it, with the interval that decided the verdict (corrected where there are
        several; 90 % where it is same), the verdict (faster, slower, same, undecided), why, the
        confidence of the interval, and the reason as a code. A change within `band` is none. By how
        much two runs of the machine differ without a change, the runs beside these two show.
        """
        if not 0.0 <= band < 1.0:
            raise PlanError(f"band is not a share from 0 to 1 (got {band!r})", "give 0.02 for 2%")
        other = before if isinstance(before, OpenedRun) else open(before)
        reject_same_run(other.run, self.run.run_ids)
        history = history_for([*other.run.paths, *self.run.paths])
        return comparison_frame(compare_runs(other._side, self._side, band, history))

    def latency(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """p50 and p99 of each case with their 95 % intervals."""
        return self._drawn(figures.latency, cases)

    def percentiles(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """Latency over the share of runs that are faster."""
        return self._drawn(figures.percentiles, cases)

    def histogram(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """How many runs took how long."""
        return self._drawn(figures.histogram, cases)

    def throughput(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """Inferences a second over the batch size."""
        return self._drawn(figures.throughput, cases, "no case was measured at two batch sizes")

    def load(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """p99 over the rate of requests."""
        return self._drawn(figures.load, cases, "no case was measured at two rates")

    def ratios(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """How many times the best of its model each runtime takes, on one clock and precision."""
        return self._drawn(figures.ratios, cases, "there are not two models on two runtimes")

    def devices(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """Inferences a second by runtime, at the batch size that most of them ran."""
        return self._drawn(
            comparison_figures.devices, cases, "no model was measured on two runtimes"
        )

    def replicas(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """Inferences a second over the replicas, beside what perfect scaling would give."""
        return self._drawn(
            comparison_figures.replicas, cases, "no case was measured alone and with several"
        )

    def accuracy(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """Top-1 over inferences a second."""
        return self._drawn(
            comparison_figures.accuracy, cases, "fewer than two cases have an accuracy"
        )

    def card(self, cases: Sequence[str] = ()) -> DrawnFigure:
        """How full the simulated cards are."""
        return self._drawn(execution_figures.fit, cases, "nothing ran on a simulated card")

    def schedule(self, case_id: str) -> DrawnFigure:
        """Which instruction a simulated card runs on which unit when, of one case; waits for the
        card's compiler."""

        def draw_schedule(cases: Sequence[TimedCase]) -> Figure | None:
            line = execution_figures.question_for(cases[0])
            if not line:
                return None
            (answer,) = card_runs([line])
            if isinstance(answer, GraphlapError):
                raise ResultsError(answer.cause, answer.remedy)
            return execution_figures.schedule(cases[0], answer)

        return self._drawn(draw_schedule, [case_id], "it did not run on a simulated card")

    def largest_batch(self) -> DrawnFigure:
        """How far a search for the largest batch came, and what stopped it."""
        pictures = (answer.evidence(self.measured) for answer in answers(self.run))
        return _or_why(
            lambda: next(chain.from_iterable(pictures), None),
            "the run has no such search",
        )

    def operators(self, case_id: str) -> DrawnFigure:
        """The slowest operators of one case."""
        return self._operator_figure(case_id, slowest_operators, "its operators were not timed")

    def roofline(self, case_id: str) -> DrawnFigure:
        """FLOP/s of one case's operators below the machine's peaks."""
        return self._operator_figure(
            case_id, roofline, "its operators' work or the peak is not known"
        )

    def memory(self, case_id: str) -> DrawnFigure:
        """Memory in use while each operator of one case runs, and the most."""
        return self._operator_figure(case_id, memory, "its engine reported no memory of operators")

    def _operator_figure(
        self, case_id: str, draw: Callable[[TimedCase, OperatorTimes], Figure | None], why_not: str
    ) -> DrawnFigure:
        def drawn(cases: Sequence[TimedCase]) -> Figure | None:
            times = case_operators(self.run, cases[0].measured.case)
            return draw(cases[0], times) if times is not None and times.ops else None

        return self._drawn(drawn, [case_id], why_not)

    def verdicts(self) -> pd.DataFrame:
        """Which runtime is the fastest, for each set of cases that are alike: what they share, the
        first, the second, how many times as long it takes, whether they are told apart, the
        verdict on the first (faster, same, undecided), and a sentence with its interval.
        ResultsError where there is no such set."""
        band = self.run.manifest.requested_plan.band
        contests = fastest(self.measured, band)
        if not contests:
            raise ResultsError(
                "there is nothing to compare (no two timed cases differ by their runtime alone)",
                "measure a model on two runtimes, or compare two runs: graphlap.compare",
            )
        lines = [
            (
                contest.label,
                contest.first,
                contest.second,
                contest.times,
                contest.parted,
                contest.word,
                verdict_text(contest, band),
            )
            for contest in contests
        ]
        return pandas().DataFrame(lines, columns=list(_FASTEST))

    def _drawn(
        self,
        draw: Callable[[Sequence[TimedCase]], Figure | None],
        cases: Sequence[str],
        why_not: str = "",
    ) -> DrawnFigure:
        # It may be an index of a dataframe, which is neither true nor false.
        case_ids = [cases] if isinstance(cases, str) else list(cases)
        self._refuse_unknown(case_ids)
        all_cases = timed_cases(self.run, self.measured)
        selected_cases = [case for case in all_cases if not case_ids or case.case_id in case_ids]
        return _or_why(
            lambda: draw(selected_cases) if selected_cases else None,
            why_not if selected_cases else "no case was timed",
        )

    @property
    def _side(self) -> RunSide:
        return side_of(self.run, self.measured)

    def _refuse_unknown(self, cases: Sequence[str]) -> None:
        known_ids = {measurement.case.case_id for measurement in self.measured}
        for case_id in cases:
            if case_id not in known_ids:
                raise ResultsError(
                    f"the run has no case {case_id!r}", "take one of the column case_id of `rows`"
                )

    def _repr_html_(self) -> str:
        """What a notebook shows of it."""
        return str(self.rows[list(_BRIEF)].to_html(index=False))


def comparison_frame(comparison: Comparison) -> pd.DataFrame:
    """A line for each case and figure that both runs measured, as `OpenedRun.compare` has them;
    p50s that are compared in cycles are stated at one `clock_mhz` of the core."""
    lines = []
    for case in comparison.cases:
        for name, sides in case.percentiles.items():
            verdict, interval = sides.verdict, sides.verdict.interval
            bounds = (interval.low, interval.high) if interval else (None, None)
            confidence = verdict.confidence if interval else None
            figures_us = (sides.first, sides.second, sides.ratio)
            verdict_cells = (verdict.word, verdict.detail, confidence, verdict.reason)
            lines.append((case.label, name, *figures_us, *bounds, *verdict_cells, sides.clock_mhz))
    return pandas().DataFrame(lines, columns=list(_COMPARED_COLUMNS))


def _or_why(draw: Callable[[], Figure | None], why_not: str) -> DrawnFigure:
    """The figure; ResultsError with the reason if there is nothing to draw."""
    figure = draw()
    if figure is None:
        raise ResultsError(f"there is nothing to draw ({why_not})", "choose another figure")
    return DrawnFigure(figure)
