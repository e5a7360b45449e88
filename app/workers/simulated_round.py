"""The measured part of a round on a simulated card: samples from its schedule, not from a clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.cases.round import MEASURED, RECORD, WARMUP, MeasureJob, OpenLoop, Progress, latency_ns
from app.cases.scenario import Scenario
from app.stats.quantiles import order_statistic
from app.workers.execution_facts import of_references, of_wrong_outputs
from app.workers.lanes import counted
from app.workers.open_loop import simulated_schedule
from app.workers.round_context import UnderWay
from exporters.types import Reference
from runtimes.base import Session
from runtimes.errors import Unsupported
from runtimes.execution import AfterCompletion, Queries, Samples, Scheduled

MOST_RUNS = 1_000_000
"""So many are simulated in one go: a sample of a multistream holds many runs."""


def simulate_at_once(
    session: Session, scenario: Scenario, count: int, rng: np.random.Generator
) -> Samples:
    """So many samples of `multistream:N`, each a query of N runs, or of `offline`, each a run of
    one block."""
    if scenario.kind == "offline":
        runs = session.simulate(Queries(1, count), rng)
        due = np.full_like(runs.started_ns, runs.started_ns[0])
        return Samples(due, runs.started_ns, runs.finished_ns, runs.clock)
    parts = list(_queries(session, scenario.count, count, rng))
    started, finished = (np.concatenate(times) for times in zip(*parts, strict=True))
    return Samples(started, started, finished, "simulated")


def _queries(
    session: Session, of: int, count: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """When queries of so many runs begin and end; each begins when the last is answered."""
    at_a_time, now_ns = max(MOST_RUNS // of, 1), 0
    for first in range(0, count, at_a_time):
        runs = session.simulate(Queries(min(at_a_time, count - first), of), rng)
        answered_ns = runs.finished_ns.reshape(-1, of).max(axis=1)
        yield now_ns + runs.started_ns[::of], now_ns + answered_ns
        now_ns += int(answered_ns[-1])


def simulate_round(this: UnderWay, session: Session, reference: Reference) -> None:
    """Take the samples from the simulator; a graph it holds only in part has no latency."""
    job = this.job
    if job.model.rotation:
        raise Unsupported(
            "a simulated card takes as long whatever it is fed", "remove --rotate-inputs"
        )
    check = this.check(session, reference)
    if this.result.status == "partial":
        # Without a timing that a wrong output could put in doubt, the nodes come first.
        this.note(check=check, stop_reason="partial")
        if check is not None:
            this.warn(*of_references(check))
            if not check.output_ok:
                this.warn(of_wrong_outputs(check))
        return
    this.note_check(check)
    this.enter("measure")
    samples, became = _samples(session, job)
    records = np.zeros(len(samples.started_ns), dtype=RECORD)
    records["scheduled_ns"] = samples.scheduled_ns
    records["started_ns"] = samples.started_ns
    records["finished_ns"] = samples.finished_ns
    records["phase"] = MEASURED
    records["phase"][: became.start_requests if became else 0] = WARMUP
    with this.samples_file() as file:
        file.write(records.tobytes())
    latency = np.sort(latency_ns(counted(records), job.scenario.is_open_loop))
    p50_ns, p99_ns = (order_statistic(latency, q) for q in (0.5, 0.99))
    this.report(Progress("measure", len(latency), latency.sum() / 1e9, p50_ns, p99_ns))
    this.note_samples(
        len(latency),
        # The cycles depend on the pacing, so they are known only now.
        facts=dict(session.execution.facts),
        duration_s=float(samples.finished_ns[-1] - samples.scheduled_ns[0]) / 1e9,
        stop_reason="simulated",
        open_loop=became,
    )


def _samples(session: Session, job: MeasureJob) -> tuple[Samples, OpenLoop | None]:
    """The runs, and what became of the schedule of an open loop."""
    count, scenario = job.limits.simulated_samples, job.scenario
    rng = np.random.default_rng(job.seed)
    if scenario.is_open_loop:
        alone = session.simulate(AfterCompletion(count), rng)
        capacity_hz = 1e9 / float(alone.service_ns.mean())
        schedule = simulated_schedule(scenario, count, job.arrivals_seed, capacity_hz)
        served = session.simulate(Scheduled(schedule.offsets_ns), rng)
        return served, schedule.became(served, lanes=1)
    if scenario.kind == "ahead":
        raise Unsupported(
            f"{scenario} queues runs on a device, and a simulated card has no queue",
            "use offline, where one follows the other",
        )
    if scenario.kind in ("multistream", "offline"):
        return simulate_at_once(session, scenario, count, rng), None
    return session.simulate(AfterCompletion(count, round(scenario.gap_us * 1e3)), rng), None
