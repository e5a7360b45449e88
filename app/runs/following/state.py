"""The state of a followed run: a frozen value, details of its cases, how it stands or ended."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.analysis.insights.insight import Insight
from app.analysis.plot_data.series import Series
from app.cases.case import Case
from app.cases.errors import ResultsError, is_no_room
from app.cases.jobs import OperatorTimes, Sensitivity
from app.cases.status import FAILED, FITS, STATUSES, Tone
from app.run_folder.files import Problem
from app.run_folder.live_status import Live
from app.run_folder.manifest import Manifest
from app.run_folder.operators import read_operators
from app.run_folder.run import Run
from exporters.types import ExportedModel


@dataclass(frozen=True, slots=True)
class CaseDetails:
    """`elsewhere` maps the nodes that the engine did not take to the providers that did.

    `operators` is None until the run has one of the case's operators.
    """

    case: Case
    model: ExportedModel
    engine: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    operators: OperatorTimes | None = None

    def without_operators(self) -> CaseDetails:
        """All that is known before operator times are, which come last."""
        return replace(self, operators=None)


def details(run: Run, case: Case, operators: OperatorTimes | None = None) -> CaseDetails | None:
    """None until the case's model was exported."""
    model = run.model_of(case)
    if model is None:
        return None
    rounds = run.rounds_of(case)
    if not rounds:
        return CaseDetails(case, model, operators=operators)
    last = rounds[-1]
    provider_by_node = {str(node["node"]): str(node["provider"]) for node in last.placement}
    return CaseDetails(case, model, last.execution_provider, provider_by_node, operators)


def case_operators(run: Run, case: Case) -> OperatorTimes | None:
    """The case's operators; None if the run has none, a file that can't be read is a reason."""
    line = run.operators.get(case.case_id)
    if line is None:
        return None
    try:
        return read_operators(run.path, line)
    except ResultsError as error:
        return OperatorTimes(case.case_id, reason=str(error))


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as it stands.

    `series` has every case in the plan's order; only the `visible_keys` have counts, rounds and,
    once their model was exported, details. `environments` are by host, of who measured.
    `revision` grows when more changed than samples being added. `alive` says that some
    process is writing the folder now. `problem` is there when the folder can't be read any
    more; what was read before stays. `damaged` are journal lines that nobody understands: what
    they told of is not among the series. `models` are those exported so far, `sensitivities` the
    effects of assumed values by case. `insights` are what
    to look at, once nobody writes the folder.
    """

    folder: Path
    manifest: Manifest
    live: Live | None = None
    alive: bool = False
    series: tuple[Series, ...] = ()
    visible_keys: tuple[str, ...] = ()
    revision: int = 0
    samples_in_flight: int = 0
    problem: Problem | None = None
    damaged: tuple[Problem, ...] = ()
    details: Mapping[str, CaseDetails] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: tuple[ExportedModel, ...] = ()
    sensitivities: Mapping[str, Sensitivity] = field(default_factory=dict)
    insights: tuple[Insight, ...] = ()

    def of(self, key: str) -> Series | None:
        """The series of one case."""
        return next((case_series for case_series in self.series if case_series.key == key), None)

    @property
    def is_over(self) -> bool:
        return self.live is not None and self.live.state in ("finished", "stopped")


_FAILURE_CODE = 1
_FULL_BELOW_BYTES = 1 << 20
"""With less room than this the next file of a run does not fit: its journal, `live.json`."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`tone` is None while the run goes on; `word` says it at a glance, "" of one that does."""

    text: str
    tone: Tone | None
    word: str = ""


_DISK_FULL = Ending("no room on the disk: free space, then resume the run", "error", "DISK FULL")


def ending(state: RunState, live: Live) -> Ending:
    """Of a run that goes on what it does, else how it ended and what can be done about it."""
    if not state.is_over:
        if state.alive and live.state == "paused":
            return Ending("paused", "warning", "PAUSED")
        if state.alive:
            return Ending(live.state, None)
        if _is_full(state.folder):
            return _DISK_FULL
        return Ending("interrupted, can be resumed", "error", "INTERRUPTED")
    if live.state == "stopped":
        if live.exit_code == _FAILURE_CODE and _is_full(state.folder):
            return _DISK_FULL
        if live.disk_error:
            full = is_no_room(live.disk_error)
            text = f"{live.disk_error}; can be resumed"
            return Ending(text, "error", "DISK FULL" if full else "DISK ERROR")
        if live.exit_code == _FAILURE_CODE:
            text = "ended by an error, which is in the log; can be resumed"
            return Ending(text, "error", "BROKEN OFF")
        return Ending("stopped, can be resumed", "warning", "STOPPED")
    return _make_ending(state)


def status_without_live(state: RunState) -> str:
    """Of a run of which no batch process tells how it stands."""
    if state.alive:
        return "no output yet"
    if state.series and all(case_series.status == "imported" for case_series in state.series):
        return "imported"
    return "its end was not recorded"


def _is_full(folder: Path) -> bool:
    """Of a run that was cut off: who could not write could not say why either."""
    try:
        return shutil.disk_usage(folder).free < _FULL_BELOW_BYTES
    except OSError:
        return False


def _make_ending(state: RunState) -> Ending:
    ends = Counter(case_series.status for case_series in state.series)
    total = len(state.series)
    failed = sum(count for status, count in ends.items() if status in FAILED)
    if total and failed == total:
        return Ending("finished: every case failed, see Reason in the table", "error", "FAILED")
    if total and not any(status in FITS for status in ends):
        text = "finished: nothing could be measured, see Reason in the table"
        return Ending(text, "error", "FAILED")
    unmeasured = sum(count for status, count in ends.items() if _is_missing(status)) - failed
    parts = [f"{failed:,} of {total:,} cases failed"] if failed else []
    parts += [f"{unmeasured:,} not measured"] if unmeasured else []
    tone: Tone = "error" if failed else "warning" if unmeasured else "ok"
    return Ending(", ".join(["finished", *parts]), tone, "FINISHED")


def _is_missing(status: str) -> bool:
    return status in STATUSES and status not in FITS
