"""How far a sweep is: a live display on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import FAILED
from app.results import text
from app.results.live import Live
from app.sweep.events import (
    AccuracyFinished,
    Event,
    ExportFinished,
    Paused,
    ProfileFinished,
    RoundDropped,
    RoundFinished,
)
from app.sweep.run import SweepRun

if TYPE_CHECKING:
    from rich.console import RenderableType

REDRAW_S = 0.25
"""Drawing costs the parent a few milliseconds, on another core than the measurement's."""


class Display(Protocol):
    """Shown what happened after each step of the sweep."""

    def show(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


def display_for(run: SweepRun, stream: TextIO) -> Display:
    """The live display if `stream` is a terminal, else the log."""
    return LiveDisplay(run, stream) if stream.isatty() else PlainLog(run, stream)


class PlainLog:
    """One line for each export and each round that ended."""

    def __init__(self, run: SweepRun, stream: TextIO) -> None:
        self._run = run
        self._stream = stream
        live = run.live
        self._say(
            f"{live.cases_total} cases, {live.rounds_total} rounds, "
            f"{live.rounds_total - live.rounds_done} to measure, "
            f"about {text.duration(live.eta_s)}; results in {run.folder.path}"
        )

    def show(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case ExportFinished():
                    self._say(_export_line(event))
                case RoundFinished(result, _):
                    self._say(self._round_line(result))
                case AccuracyFinished():
                    self._say(_accuracy_line(event))
                case ProfileFinished():
                    self._say(_profile_line(event))
                case RoundDropped(_, reason, _):
                    self._say(f"round dropped: {reason}")
                case Paused():
                    self._say("paused")

    def close(self) -> None:
        self._stream.flush()

    def _round_line(self, result: RoundResult) -> str:
        live, case = self._run.live, self._run.cases[result.case_id]
        place = f"[{live.rounds_done}/{live.rounds_total}, {text.duration(live.eta_s)} left]"
        return f"{place} {_round_text(self._run, case, result)}"

    def _say(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class LiveDisplay:
    """The case in flight with its running percentiles, a bar and the time left."""

    def __init__(self, run: SweepRun, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live as Redrawn

        self._run = run
        self._drawn = 0.0
        # Refreshed by hand: a refreshing thread would wake beside the measurement for nothing.
        self._live = Redrawn(console=Console(file=stream), auto_refresh=False, transient=True)
        self._live.start()

    def show(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, RoundFinished) and event.result.status in FAILED:
                case = self._run.cases[event.result.case_id]
                self._live.console.print(
                    _round_text(self._run, case, event.result), markup=False, highlight=False
                )
            elif isinstance(event, AccuracyFinished) and event.result.top1 is None:
                self._live.console.print(_accuracy_line(event), markup=False, highlight=False)
            elif isinstance(event, ProfileFinished) and not event.result.ops:
                self._live.console.print(_profile_line(event), markup=False, highlight=False)
            elif isinstance(event, ExportFinished) and event.reply.model is None:
                self._live.console.print(_export_line(event), markup=False, highlight=False)
        if events or time.monotonic() - self._drawn >= 1.0:
            self._draw()

    def close(self) -> None:
        self._live.stop()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn < REDRAW_S:
            return
        self._drawn = now
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        live = self._run.live
        if live.state in ("starting", "exporting"):
            what = f"exporting {', '.join(live.exporting)}" if live.exporting else "starting"
            figures = f"{live.exports_done} of {live.exports_total} models"
        else:
            case = self._run.cases.get(live.case_id)
            what = f"{live.state} {text.case_label(case) if case else ''}"
            figures = _figures(live)
        total = (
            f" {live.rounds_done} of {live.rounds_total} rounds, {live.cases_failed} failed cases, "
            f"{text.duration(live.eta_s)} left"
        )
        bar = ProgressBar(total=max(live.rounds_total, 1), completed=live.rounds_done, width=40)
        return Group(Text(what, style="bold"), Text(figures), bar, Text(total, style="dim"))


def _figures(live: Live) -> str:
    if live.phase == "profile":
        return "profiling the operators"
    if live.phase == "accuracy":
        return f"accuracy, {text.count(live.iterations)} images"
    return (
        f"round {(live.round or 0) + 1}, {live.phase}, {text.count(live.iterations)} runs, "
        f"p50 {text.latency(live.p50_us)}, p99 {text.latency(live.p99_us)}"
    )


def _accuracy_line(event: AccuracyFinished) -> str:
    said, result = f"accuracy of {text.case_label(event.job.accuracy.subject)}", event.result
    if result.top1 is None:
        return f"{said}: {result.reason}"
    return f"{said}: {100 * result.top1:.1f} % of {text.count(result.images)} images"


def _profile_line(event: ProfileFinished) -> str:
    said, result = f"operators of {text.case_label(event.job.profile.case)}", event.result
    if not result.ops:
        return f"{said}: {result.reason}"
    return f"{said}: {len(result.ops)} in {text.latency(result.total_us)}"


def _export_line(event: ExportFinished) -> str:
    name, reply = Path(event.job.request.model).name, event.reply
    if reply.model is None:
        return f"export of {name}: {reply.status}: {reply.reason}"
    how = "from the cache" if reply.cached else f"in {reply.export_ms / 1e3:.1f} s"
    return f"exported {name} {how}"


def _round_text(run: SweepRun, case: Case, result: RoundResult) -> str:
    said = f"{text.case_label(case)} round {result.round + 1}: {result.status}"
    if result.status not in ("ok", "partial") and result.reason:
        return f"{said}: {result.reason}"
    if result.iterations and run.live.case_id == result.case_id:
        said += f", {text.count(result.iterations)} runs"
        said += f", p50 {text.latency(run.live.p50_us)}, p99 {text.latency(run.live.p99_us)}"
    return said
