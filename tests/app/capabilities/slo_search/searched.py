"""Run folders of searches for the highest rate whose rounds come from the virtual clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from app.capabilities.slo_search.search import RateSearch, SearchState, rate_searches
from app.cases.case import Case
from app.cases.round import MEASURED, RECORD, OpenLoop, RoundResult
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder, samples_name
from app.run_folder.journal import SearchCase
from app.runs.reader import read_run
from app.stats.open_loop import arrivals_ns
from runtimes.execution import Samples
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of
from tests.app.workers.virtual_server import same_service
from tests.app.workers.virtual_server import served as batched
from tests.simulated.queues import simulate_queue

ONE = Case(model="mlp", runtime="fake")
TWO = Case(model="mlp", runtime="fake", options={"sessions": 2})
REQUESTS = 4000
UNLOADED_RUNS = 400
GENERATOR_LATE_NS = 7_000_000


@dataclass(frozen=True, slots=True)
class Script:
    """Constant services on as many lanes as sessions, of a batch as of one request. From `most_hz`
    on arrivals themselves come late, but for every third round of a rate if `some_in_time`, and
    from `fails_at_hz` on rounds end without figures."""

    service_ns: int = 1_000_000
    most_hz: float = float("inf")
    fails_at_hz: float = float("inf")
    some_in_time: bool = False


def new_search(path: Path, slo: str, cases: Sequence[Case] = (ONE,), **plan: Any) -> RunFolder:
    """The folder of a run that has measured nothing yet."""
    requested_plan = Plan(**{"sweeps": (Sweep(models=("mlp",)),), "slo": slo, **plan})
    return RunFolder.create(path, manifest_of(cases, 1, requested_plan))


def play(folder: RunFolder, script: Script, most_rounds: int = 1000) -> list[SearchState]:
    """Measure what the searches ask for, one after another, until they are over or had so many."""
    folder.begin(ENVIRONMENT)
    for search in rate_searches(read_run(folder.path)):
        while most_rounds and _measure_next(folder, search, script):
            most_rounds -= 1
    return searched(folder)


def searched(folder: RunFolder) -> list[SearchState]:
    """As someone sees it who reads the folder anew."""
    run = read_run(folder.path)
    return [search.of(run) for search in rate_searches(run)]


def _measure_next(folder: RunFolder, search: RateSearch, script: Script) -> bool:
    point = search.of(read_run(folder.path)).following
    if point is None:
        return False
    record_round(folder, search, point.rate_hz, point.number, script)
    return True


def record_round(
    folder: RunFolder, search: RateSearch, rate_hz: float | None, number: int, script: Script
) -> None:
    """One round at this rate, or of the closed loop."""
    if rate_hz is None:
        begun = np.arange(UNLOADED_RUNS) * script.service_ns
        samples = Samples(begun, begun, begun + script.service_ns, "wall")
        folder.record(_round(folder, search.base, number, samples, script))
        return
    case = search.case_at(rate_hz)
    if not number:
        folder.record(SearchCase(case))
    if rate_hz >= script.fails_at_hz:
        failure = RoundResult(case.case_id, number, "run_failed", "the engine said no: ask it why")
        folder.record(failure)
        return
    lanes = int(case.options.get("sessions", 1))
    arrivals = arrivals_ns(case.scenario, REQUESTS / rate_hz, seed=number)
    most = 1
    if case.batcher is None:
        service = np.full(len(arrivals), script.service_ns)
        samples = simulate_queue(arrivals, service, lanes)
    else:
        most = case.batcher.most
        times = same_service(case.batcher, script.service_ns)
        samples = batched(case.batcher, arrivals.tolist(), times)
    open_loop = OpenLoop(
        schedule_sha256="0" * 64,
        due=len(arrivals),
        left=0,
        seconds=float(samples.finished_ns.max()) / 1e9,
        utilisation=rate_hz * script.service_ns / 1e9 / lanes / most,
    )
    if rate_hz >= script.most_hz and not (script.some_in_time and number % 3 == 2):
        samples = replace(
            samples,
            started_ns=samples.started_ns + GENERATOR_LATE_NS,
            finished_ns=samples.finished_ns + GENERATOR_LATE_NS,
        )
    folder.record(_round(folder, case, number, samples, script, open_loop=open_loop))


def _round(
    folder: RunFolder, case: Case, number: int, samples: Samples, script: Script, **facts: Any
) -> RoundResult:
    records = np.zeros(len(samples.started_ns), RECORD)
    records["scheduled_ns"] = samples.scheduled_ns
    records["started_ns"] = samples.started_ns
    records["finished_ns"] = samples.finished_ns
    records["phase"] = MEASURED
    name = samples_name(case.case_id, number)
    (folder.samples / name).write_bytes(records.tobytes())
    return RoundResult(
        case_id=case.case_id,
        round=number,
        status="ok",
        samples=name,
        iterations=len(records),
        duration_s=1.0,
        concurrency=int(case.options.get("sessions", 1)),
        **facts,
    )
