"""What assumed values come to: each is doubled after the last round, while there is time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.cases.case import Case
from app.cases.jobs import Sensitivity, SensitivityJob
from app.cases.scenario import CLOSED_LOOP, NO_CONDITION
from app.cases.status import RAN
from app.formatting.case_labels import FILE_NAMES, ModelNames, case_label
from app.machine import installed_runtimes
from app.machine.installed_runtimes import runtime
from app.run_folder.run import Run
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.shares import SharedSweep
from app.sweep.work.base import Work
from app.sweep.work.process import FollowUpWork
from exporters.inputs import seeded_inputs
from exporters.types import PACKAGED, ExportedModel, TensorSpec
from runtimes.registry import parse_spec

SHARE = 0.15
"""So much of the run's time it takes at most."""
LEAST_S = 1.0
"""A process, an engine and a graph take about so long: for less none is begun."""
MAXIMUM_VALUES = 4
_DECISIVE = ("size", "length", "limit")


class SensitivityWork(FollowUpWork[Sensitivity]):
    """`result` has what twice an assumed value comes to."""

    kind = "sensitivity"
    result_type = Sensitivity
    process_name = "the process that doubles assumed values"
    job: SensitivityJob

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        label, result = f"assumed values of {case_label(self.job.case, models)}", self.result
        if result is None:
            return f"{label} were not doubled: {self._why_dropped}"
        return f"{label}: {result.reason or f'{len(result.factors)} doubled'}"

    def _failure(self, reason: str, transient: bool) -> Sensitivity:
        return Sensitivity(self.case_id, {}, len(self.job.names), reason, transient)


class SensitivityFollowUp(FollowUp):
    """A process for each model of which something was assumed.

    It takes what time is left: a budget keeps none for it.
    """

    kind = SensitivityWork.kind
    remaining = 0

    def __init__(self, state: RunState) -> None:
        super().__init__(state)
        self._run, self._budget = state.recorded, state.rounds.schedule.budget
        lines = state.recorded.time_spent
        self._before_s = sum(sum(p.values()) for line in lines for p in line.seconds.values())
        self._used_s = sum(sum(line.seconds.get(self.kind, {}).values()) for line in lines)
        self._begun_s = 0.0
        self._cases = state.models
        known = state.recorded.result_by_subject(Sensitivity)
        told = {c.model: known[c.case_id] for c in self._cases if c.case_id in known}
        models = dict.fromkeys(c.model for c in self._cases)
        self._waiting = deque(m for m in models if m not in told or told[m].transient)

    def take(self, work: Work) -> None:
        if isinstance(work, SensitivityWork):
            self._used_s += time.monotonic() - self._begun_s

    def next(self) -> Work | None:
        while self._waiting:
            spent_s = self._before_s + self._budget.spent_s
            left_s = min(allowance_s(spent_s, self._used_s), self._budget.left_s)
            if left_s < LEAST_S:
                self._waiting.clear()
                break
            candidates = [c for c in self._cases if c.model == self._waiting[0]]
            case = fastest_case(self._run, [c for c in candidates if c.case_id in self.ran])
            names = assumed_names(self._run, case) if case is not None else ()
            if case is None or not names:
                self._waiting.popleft()
                continue
            outcome = self._model_or_export(case, [case])
            if isinstance(outcome, Work):
                return outcome
            self._waiting.popleft()
            if outcome is not None:
                self._begun_s = time.monotonic()
                cache_dir = str(installed_runtimes.folder())
                job = SensitivityJob(case, outcome, names, left_s, cache_dir)
                return SensitivityWork(job, case, self.time_limit_s, self.memory_limit_bytes)
        return None


def sensitivity_follow_up(state: RunState) -> FollowUp | None:
    """The models whose assumptions have no effect yet; None for a search and on other machines."""
    is_share = isinstance(state.rounds, SharedSweep) or state.rounds.schedule.exported
    if not state.plan.sensitivity or state.plan.is_search or is_share:
        return None
    return SensitivityFollowUp(state)


def allowance_s(spent_s: float, used_s: float) -> float:
    """How long it may still take in a run that has taken so long, `used_s` of it for this."""
    return SHARE * (spent_s - used_s) - used_s


def fastest_case(run: Run, cases: Sequence[Case]) -> Case | None:
    """That of the least median on a processor of this machine, one thread first, as it is run
    alone."""
    plain = [
        case
        for case in cases
        if case.scenario == CLOSED_LOOP
        and case.condition == NO_CONDITION
        and not case.batcher
        and not runtime(parse_spec(case.runtime).name).accelerator
    ]
    timed = [(case, median) for case in plain if (median := _median_ns(run, case)) is not None]
    return min(timed, key=lambda pair: (pair[0].threads != 1, pair[1]), default=(None,))[0]


def _median_ns(run: Run, case: Case) -> float | None:
    timed = [r for r in run.rounds_of(case) if r.samples and r.status in RAN and r.clock == "wall"]
    return float(np.median(run.samples_of(timed[-1]).latency_ns)) if timed else None


def assumed_names(run: Run, case: Case) -> tuple[str, ...]:
    """The inputs and axes of a user's graph whose values were assumed and can be doubled."""
    model = run.model_of(case)
    if model is None or not model.sources or model.input_files or model.reference == PACKAGED:
        return ()
    model = model.at(case.axes)
    given = run.manifest.assumed_sizes.get(case.model, {})
    sizes = {axis: n for axis, n in given.items() if axis in model.open_axes and n > 1}
    sizes = {axis: n for axis, n in sizes.items() if axis != model.batch and model.axes[axis] == n}
    sums = {a for a, n in sizes.items() if any(n - m in given.values() for m in sizes.values())}
    inputs = [s.name for s in model.inputs if s.assumed in _DECISIVE and _doubles(s, model)]
    return (*inputs, *(axis for axis in sizes if axis not in sums))[:MAXIMUM_VALUES]


def _doubles(spec: TensorSpec, model: ExportedModel) -> bool:
    """Whether the input has twice its value within what the graph allows it."""
    if not spec.fill:
        return False
    pair = [spec, replace(spec, name="twice", fill=tuple((*terms, *terms) for terms in spec.fill))]
    one, two = seeded_inputs(pair, model.axes, 0).values()
    return bool(one.any() and np.array_equal(2 * one, two))
