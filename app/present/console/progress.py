"""Progress of a sweep: a live display on a terminal with each case's p50, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TextIO

import numpy as np

from app.analysis.columns.precision import missing_text
from app.analysis.columns.rows import round_starts_s, turns_of
from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import RAN
from app.formatting import text
from app.formatting.case_labels import (
    ModelNames,
    case_label,
    labels,
    model_labels,
    shared_and_distinct,
)
from app.formatting.text import printable
from app.plan.capabilities import KINDS
from app.present.console.streams import width_of
from app.present.terminal import filled, width_of_text
from app.run_folder.live_status import Live
from app.run_folder.run import Run
from app.stats.levels import ratio_in_turns
from app.stats.option_search.ablation import round_name
from app.stats.quantiles import Interval
from app.sweep.engine import Completed, Dropped, Event, Paused, ProgressReported
from app.sweep.run import SweepRun
from app.sweep.work.base import WAITING, Work
from app.sweep.work.export import DraftWork
from app.sweep.work.round import RoundWork
from exporters import diagnostics as catalogue

_Rounds = dict[str, Sequence[float]]
"""By the set or the pass the medians of a case's turns; of a round that was alone its own."""
_PASS = "pass "


class LiveOrder:
    """`sentences` are the latest, by what the cases of each comparison share."""

    def __init__(self, band: float) -> None:
        self.sentences: dict[str, str] = {}
        self._band = band
        self._groups: dict[str, dict[str, _Rounds]] = {}
        self._cases: dict[str, Case] = {}
        self._words: dict[str, tuple[str, str, bool]] = {}

    def add(self, run: Run, case: Case, result: RoundResult, p50_us: float | None) -> str:
        """What is known of the comparison of this case with those of other engines, if that says
        more than before, else ""."""
        key = replace(case, runtime="", options={}).case_id
        turns = turns_of(run, result)
        rounds = self._groups.setdefault(key, {}).setdefault(case.case_id, {})
        self._cases[case.case_id] = case
        if turns is None and p50_us:
            rounds[f"{_PASS}{result.round}"] = (p50_us,)
        elif turns is not None and any(turns[1]):
            rounds[turns[0]] = turns[1]
        sides = {case_id: side for case_id, side in self._groups[key].items() if side}
        return self._sentence(key, sides) if len(sides) > 1 else ""

    def _sentence(self, key: str, sides: Mapping[str, _Rounds]) -> str:
        from app.analysis.comparison.ranking import Fastest
        from app.present.console.run_summary import verdict_text
        from app.stats.verdict import RoundPairs, judge_rounds

        first = min(sides, key=lambda case_id: _level(sides[case_id]))
        ratios = {other: _ratios(sides[first], sides[other]) for other in sides if other != first}
        ratios = {other: found for other, found in ratios.items() if found}
        if not ratios:
            return ""
        verdicts = judge_rounds(
            [RoundPairs([1.0] * len(found), found) for found in ratios.values()], self._band
        )
        words = dict(zip(ratios, verdicts, strict=True))
        times = {other: math.exp(float(np.mean(np.log(found)))) for other, found in ratios.items()}
        is_parted = all(verdict.word == "slower" for verdict in verdicts)
        second = min(times, key=lambda other: (words[other].word == "slower", times[other]))
        label, names = shared_and_distinct(labels([self._cases[case_id] for case_id in sides]))
        count = len(ratios[second])
        contest = Fastest(
            label,
            names[first],
            names[second],
            times[second],
            words[second],
            is_parted,
            count,
            needed=None,
            simulated=False,
        )
        state = first, words[second].word, words[second].interval is None
        is_news = self._words.get(key) != state
        self._words[key] = state
        sentence = verdict_text(contest, self._band)
        self.sentences[key] = f"{label}: {sentence}" if label else sentence
        return self.sentences[key] if is_news else ""


def _level(rounds: _Rounds) -> float:
    return float(
        np.median([np.median([turn for turn in turns if turn]) for turns in rounds.values()])
    )


def _ratios(first: _Rounds, second: _Rounds) -> list[float]:
    """By the sets that both took turns in, and before there is one by passes."""
    shared = [key for key in first if key in second]
    sets = [key for key in shared if not key.startswith(_PASS)] or shared
    found = (ratio_in_turns(first[key], second[key]) for key in sets)
    return [ratio for ratio in found if ratio]


if TYPE_CHECKING:
    from rich.console import RenderableType


MINIMUM_ROUNDS = 3
"""An interval between processes needs so many."""
SUMMARY_SHARE, SUMMARY_S = 0.03, 0.5
"""Summaries for display may take so much of the time of a run, and so long in any case."""
UNCHECKED = "outputs not checked yet"
P50 = "p50"


@dataclass(frozen=True, slots=True)
class RunningFigure:
    """A median in microseconds, with its interval once there are rounds enough for one.

    `lacks` are the reasons why it is provisional, none for a figure that will hold.
    """

    p50_us: float
    interval_us: Interval | None = None
    lacks: tuple[str, ...] = ()

    @property
    def state(self) -> tuple[bool, bool, bool]:
        """What a log has a line for when it changes: unchecked, with an interval, provisional."""
        return UNCHECKED in self.lacks, self.interval_us is not None, bool(self.lacks)

    def text(self) -> str:
        parts = []
        if self.interval_us is not None:
            parts.append(text.interval(self.interval_us.low, self.interval_us.high))
        if self.lacks:
            parts.append(f"provisional: {', '.join(self.lacks)}")
        return f"p50 {text.latency(self.p50_us)}" + (f" ({'; '.join(parts)})" if parts else "")


class RunningFigures:
    """The figures of a run's cases by their ids, the latest last; see `take`."""

    def __init__(self, run: SweepRun) -> None:
        self.figures: dict[str, RunningFigure] = {}
        self._run = run
        self._start_s = time.monotonic()
        self._spent_s = 0.0
        self.order = LiveOrder(run.folder.manifest.requested_plan.band)

    def take(self, events: Sequence[Event]) -> Iterator[tuple[Case, RunningFigure]]:
        """Follow what happened; yields each case whose figure is in another state than before."""
        for event in events:
            match event:
                case ProgressReported(RoundWork() as work):
                    if work.case.case_id in self.figures:
                        continue
                    figure = self._provisional_figure(work)
                case Completed(RoundWork() as work):
                    figure = self._round_figure(work)
                    if figure is None:
                        self.figures.pop(work.case.case_id, None)
                case _:
                    continue
            if figure is None:
                continue
            previous = self.figures.pop(work.case.case_id, None)
            self.figures[work.case.case_id] = figure
            if previous is None or previous.state != figure.state:
                yield work.case, figure

    def orders(self, events: Sequence[Event]) -> Iterator[str]:
        """A sentence for each comparison of engines of which these say more than was known: which
        is first, by how much, and from three sets of processes on with an interval."""
        for event in events:
            if not isinstance(event, Completed) or not isinstance(event.work, RoundWork):
                continue
            work, result = event.work, event.work.result
            if result is None or not result.samples or result.status != "ok":
                continue
            if result.clock == "simulated" or work.case.scenario.is_open_loop:
                continue
            if news := self.order.add(self._run.run, work.case, result, work.p50_us):
                yield news

    def _provisional_figure(self, work: RoundWork) -> RunningFigure | None:
        """That of a round in flight, from its measured runs alone. None of an open loop, whose
        first runs meet no queue."""
        if work.phase != "measure" or work.p50_us is None or work.case.scenario.is_open_loop:
            return None
        return RunningFigure(work.p50_us, lacks=(UNCHECKED,))

    def _round_figure(self, work: RoundWork) -> RunningFigure | None:
        """None for a case without a figure: its round failed, or its outputs are wrong."""
        case, result = work.case, work.result
        if result is None or result.status not in RAN or result.status == "wrong_output":
            return None
        rounds = [
            round_result for round_result in self._run.run.rounds_of(case) if round_result.samples
        ]
        lacks = []
        if len(rounds) < (round_target := self._run.planned_rounds(case)):
            lacks.append(f"{len(rounds)} of {round_target} rounds")
        if len(rounds) < MINIMUM_ROUNDS or not self._has_time():
            previous = self.figures.get(case.case_id)
            if previous is not None and previous.interval_us is not None:
                return previous
            return None if work.p50_us is None else RunningFigure(work.p50_us, None, tuple(lacks))
        start_s = time.monotonic()
        summary = self._run.summary(case)
        self._spent_s += time.monotonic() - start_s
        p50_us = summary.value_us(P50) if summary is not None else None
        if summary is None or p50_us is None:
            return None
        if "rounds_close_in_time" in summary.marks:
            starts_s = round_starts_s(rounds)
            lacks.append(f"rounds within {text.duration(max(starts_s) - min(starts_s))}")
        return RunningFigure(p50_us, summary.interval_us(P50), tuple(lacks))

    def _has_time(self) -> bool:
        """Whether one more summary keeps to its share of the run's time."""
        elapsed_s = time.monotonic() - self._start_s
        return self._spent_s <= max(SUMMARY_S, SUMMARY_SHARE * elapsed_s)


MAXIMUM_FIGURES = 12
"""A terminal shows the figures of so many cases; a log has lines of them in runs of so few."""
REDRAW_S = 0.25
"""Drawing costs the parent a few milliseconds, on another core than the measurement's."""


def notes_of(run: SweepRun) -> Iterator[str]:
    """The lines of what is known before anything is measured: damage and warnings."""
    models = model_labels(case.model for case in run.run.cases)
    for line in run.voided:
        label = case_label(run.cases[line.case_id], models)
        cause = catalogue.message(line.diagnostic) if line.diagnostic else line.reason
        yield printable(f"{label} {round_name(line.round)} is measured again: {cause}") + "\n"
    for note in filter(None, (*map(catalogue.text, run.warnings), run.kept_table)):
        yield f"{printable(note)}\n"


class Display(Protocol):
    """Shown what happened after each step of the sweep."""

    def show(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


def display_for(run: SweepRun, stream: TextIO) -> Display:
    """The live display if `stream` is a terminal, else the log."""
    return LiveDisplay(run, stream) if stream.isatty() else PlainLog(run, stream)


def _is_next(work: Work) -> bool:
    """Whether it is a later round of a simulation, which one process has one after another."""
    result = work.result if isinstance(work, RoundWork) else None
    return (
        result is not None
        and (result.clock, result.status) == ("simulated", "ok")
        and result.round > 0
    )


class PlainLog:
    """One line for each export, for each round that ended, of a simulated case for the first and
    those that failed, for the first figure of the run, and for each new state of a case's
    interval."""

    def __init__(self, run: SweepRun, stream: TextIO) -> None:
        self._run = run
        self._models = _models_of(run)
        self._figures = RunningFigures(run)
        self._has_figure = False
        self._stream = stream
        self._width = width_of(stream)
        live, checks = run.live, run.folder.manifest.requested_plan.check
        self._write_line(
            f"{text.counted(live.cases_total, 'case')}, {_pieces(run)}{_open_end(run)}, "
            f"{live.rounds_total - live.rounds_done}{_open_end(run)} to "
            f"{'check' if checks else 'measure'}, {_time_of(run)}{_share_of_exports(live)}"
        )
        self._write_line(f"results in {run.folder.path}")

    def show(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case Completed(work) if work.kind != DraftWork.kind and not _is_next(work):
                    self._write_end(work)
                case Dropped(work):
                    self._write_line(work.text(self._models))
                case Paused():
                    self._write_line("paused")
        for case, figure in self._figures.take(events):
            is_first, self._has_figure = not self._has_figure, True
            is_short = len(self._run.cases) <= MAXIMUM_FIGURES
            if is_first or (is_short and figure.interval_us is not None):
                self._write_figure(case, figure)
        for order in self._figures.orders(events):
            for part in filled(f"so far {order}", self._width, "", "  "):
                self._write_line(part)

    def close(self) -> None:
        self._stream.flush()

    def _write_end(self, work: Work) -> None:
        """In one line where it fits, else without the less important figures, else in several."""
        place, look = self._place(work), self._look(work)
        full_text, brief_text = (
            f"{place}{words}{look}" for words in (work.text(self._models), work.brief(self._models))
        )
        if width_of_text(printable(full_text)) <= self._width:
            self._write_line(full_text)
            return
        for line in filled(brief_text, self._width, "", "  "):
            self._write_line(line)

    def _write_figure(self, case: Case, figure: RunningFigure) -> None:
        line = f"{case_label(case, self._models)}: {figure.text()}"
        for part in filled(line, self._width, "", "  "):
            self._write_line(part)

    def _place(self, work: Work) -> str:
        """How far the sweep is; accuracies and operator times have no place in it."""
        live = self._run.live
        remaining = f"{_lower_bound(self._run)}{text.duration(live.eta_s)} left"
        if work.kind in ("round", "check", WAITING):
            return f"[{live.rounds_done}/{live.rounds_total}, {remaining}] "
        if work.kind == "export" and live.exports_done <= live.exports_total:
            return f"[{live.exports_done}/{live.exports_total} exported, {remaining}] "
        return ""

    def _look(self, work: Work) -> str:
        """What the case's interval has reached, where that decides on more rounds."""
        if not isinstance(work, RoundWork) or work.failed:
            return ""
        state = self._run.look(work.case)
        return f"; {state}" if state else ""

    def _write_line(self, line: str) -> None:
        self._stream.write(printable(line) + "\n")
        self._stream.flush()


class LiveDisplay:
    """The case in flight with its running percentiles, the figures so far, a bar, the time left."""

    def __init__(self, run: SweepRun, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live as Redrawn

        self._run = run
        self._models = _models_of(run)
        self._figures = RunningFigures(run)
        self._last_draw_s = 0.0
        # Refreshed by hand: a refreshing thread would wake beside the measurement for nothing.
        self._live = Redrawn(console=Console(file=stream), auto_refresh=False, transient=True)
        self._live.start()

    def show(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Completed) and event.work.failed:
                line = printable(event.work.text(self._models))
                self._live.console.print(line, markup=False, emoji=False, highlight=False)
        changed_figures = [*self._figures.take(events), *self._figures.orders(events)]
        if events or time.monotonic() - self._last_draw_s >= 1.0:
            self._draw(at_once=bool(changed_figures))

    def close(self) -> None:
        self._live.stop()

    def _draw(self, at_once: bool) -> None:
        now_s = time.monotonic()
        if not at_once and now_s - self._last_draw_s < REDRAW_S:
            return
        self._last_draw_s = now_s
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        live = self._run.live
        if live.state in ("starting", "exporting"):
            names = printable(", ".join(self._models.get(m, m) for m in live.exporting))
            title = f"exporting {names}" if names else "starting"
            figures = f"{live.exports_done}/{live.exports_total} exported"
        else:
            case = self._run.cases.get(live.case_id)
            doing = _DOING.get(live.phase, live.state)
            title = f"{doing} {case_label(case, self._models) if case else ''}"
            figures = _figures(live, case) + self._lacking(live)
        total = (
            f" {_lower_bound(self._run)}{text.duration(live.eta_s)} left, "
            f"{live.rounds_done} of {_pieces(self._run)}, "
            f"{text.counted(live.cases_failed, 'failed case')}"
        )
        bar = ProgressBar(total=max(live.rounds_total, 1), completed=live.rounds_done, width=40)
        case_lines = [Text(line) for line in self._lines_so_far()]
        return Group(
            Text(title, style="bold"), Text(figures), *case_lines, bar, Text(total, style="dim")
        )

    def _lines_so_far(self) -> Iterator[str]:
        """The cases that were measured last, with their figures."""
        for case_id, figure in list(self._figures.figures.items())[-MAXIMUM_FIGURES:]:
            label = case_label(self._run.cases[case_id], self._models)
            yield printable(f"{label}: {figure.text()}")
        orders = list(self._figures.order.sentences.values())
        yield from map(printable, orders[-MAXIMUM_FIGURES:])

    def _lacking(self, live: Live) -> str:
        """What the case in flight lacks for a sure p99, over all its rounds."""
        if live.phase != "measure":
            return ""
        results = self._run.run.rounds.get(live.case_id, {}).values()
        samples = sum(result.iterations for result in results) + live.iterations
        return f"; p99 needs {missing_text(self._run.row_of(live.case_id), samples)}"


_DOING = {"check": "checking", WAITING: "waiting"}


def _figures(live: Live, case: Case | None) -> str:
    if live.phase == WAITING:
        return "before the next pass: rounds are spread over time"
    if live.phase in KINDS:
        count = f", {text.count(live.iterations)} done" if live.iterations else ""
        return f"{KINDS[live.phase].doing}{count}"
    runs = f"{round_name(live.round or 0)}, {live.phase}, {text.counted(live.iterations, 'run')}"
    if case is not None and case.scenario.is_open_loop:
        return runs
    return f"{runs}, p50 {text.latency(live.p50_us)}, p99 {text.latency(live.p99_us)}"


def _models_of(run: SweepRun) -> ModelNames:
    return model_labels(case.model for case in run.run.cases)


def _pieces(run: SweepRun) -> str:
    """How many there are to be in all: `12 rounds`."""
    unit = "check" if run.folder.manifest.requested_plan.check else "round"
    return text.counted(run.live.rounds_total, unit)


def _open_end(run: SweepRun) -> str:
    """Where what is measured decides how many rounds there will be."""
    return " or more" if run.is_open else ""


def _lower_bound(run: SweepRun) -> str:
    """Of such a run only the next step is known."""
    return "at least " if run.is_open else ""


def _time_of(run: SweepRun) -> str:
    """How long the run is likely to take: `about 20 s`, or the bounds of what is not known."""
    if not run.is_open:
        return f"about {text.duration(run.live.eta_s)}"
    budget_s = run.folder.manifest.requested_plan.budget_s
    upper_bound = f" and at most {text.duration(budget_s)}" if budget_s is not None else ""
    return f"at least {text.duration(run.live.eta_s)}{upper_bound}"


def _share_of_exports(live: Live) -> str:
    """What of the time is no measurement: `, of which exports 20 s`."""
    return f", of which exports {text.duration(live.exports_eta_s)}" if live.exports_eta_s else ""
