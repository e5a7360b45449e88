"""The measured part of a round on a simulated card: samples from its schedule, not from a clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.cases.round import MEASURED, RECORD, WARMUP, MeasureJob, OpenLoop, Progress, latency_ns
from app.cases.scenario import Scenario
from app.stats.quantiles import order_statistic
from app.workers.execution_facts import reference_diagnostics, wrong_output_diagnostic
from app.workers.lanes import counted_records
from app.workers.open_loop import simulated_schedule
from app.workers.round_context import RoundContext
from exporters.types import Reference
from runtimes.base import Session
from runtimes.errors import Unsupported
from runtimes.execution import AfterCompletion, Queries, Samples, Scheduled

MAXIMUM_RUNS = 1_000_000
"""So many are simulated in one go: a sample of a multistream holds many runs."""


def simulate_at_once(
    session: Session, scenario: Scenario, count: int, rng: np.random.Generator
) -> Samples:
    """So many samples of `multistream:N`, each a query of N runs, or of `offline`, each a run of
    one block."""
    if scenario.kind == "offline":
        runs = session.simulate(Queries(1, count), rng)
        due_ns = np.full_like(runs.started_ns, runs.started_ns[0])
        return Samples(due_ns, runs.started_ns, runs.finished_ns, runs.clock)
    parts = list(_queries(session, scenario.count, count, rng))
    starts_ns, ends_ns = (np.concatenate(times) for times in zip(*parts, strict=True))
    return Samples(starts_ns, starts_ns, ends_ns, "simulated")


def _queries(
    session: Session, runs_per_query: int, count: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """When queries of so many runs begin and end; each begins when the last is answered."""
    at_a_time, now_ns = max(MAXIMUM_RUNS // runs_per_query, 1), 0
    for first in range(0, count, at_a_time):
        runs = session.simulate(Queries(min(at_a_time, count - first), runs_per_query), rng)
        answered_ns = runs.finished_ns.reshape(-1, runs_per_query).max(axis=1)
        yield now_ns + runs.started_ns[::runs_per_query], now_ns + answered_ns
        now_ns += int(answered_ns[-1])


def simulate_round(context: RoundContext, session: Session, reference: Reference) -> None:
    """Take the samples from the simulator; a graph it holds only in part has no latency."""
    job = context.job
    if job.model.rotation:
        raise Unsupported(
            "a simulated card takes as long whatever it is fed",
            "remove --rotate-inputs, or give --inputs one set",
        )
    check = context.check(session, reference)
    if context.result.status == "partial":
        # Without a timing that a wrong output could put in doubt, the nodes come first.
        context.note(check=check, stop_reason="partial")
        if check is not None:
            context.warn(*reference_diagnostics(check))
            if not check.output_ok:
                context.warn(wrong_output_diagnostic(check))
        return
    context.note_check(check)
    context.enter("measure")
    samples, outcome = _samples(session, job)
    records = np.zeros(len(samples.started_ns), dtype=RECORD)
    records["scheduled_ns"] = samples.scheduled_ns
    records["started_ns"] = samples.started_ns
    records["finished_ns"] = samples.finished_ns
    records["phase"] = MEASURED
    records["phase"][: outcome.start_requests if outcome else 0] = WARMUP
    with context.samples_file() as file:
        file.write(records.tobytes())
    latency = np.sort(latency_ns(counted_records(records), job.case.scenario.is_open_loop))
    p50_ns, p99_ns = (order_statistic(latency, q) for q in (0.5, 0.99))
    context.report(Progress("measure", len(latency), latency.sum() / 1e9, p50_ns, p99_ns))
    context.note_samples(
        len(latency),
        # The cycles depend on the pacing, so they are known only now.
        facts=dict(session.execution.facts),
        duration_s=float(samples.finished_ns[-1] - samples.scheduled_ns[0]) / 1e9,
        stop_reason="simulated",
        open_loop=outcome,
    )


def _samples(session: Session, job: MeasureJob) -> tuple[Samples, OpenLoop | None]:
    """The runs, and what became of the schedule of an open loop."""
    count, scenario = job.limits.simulated_samples, job.case.scenario
    rng = np.random.default_rng(job.seed)
    if scenario.is_open_loop:
        unloaded_samples = session.simulate(AfterCompletion(count), rng)
        capacity_hz = 1e9 / float(unloaded_samples.service_ns.mean())
        schedule = simulated_schedule(scenario, count, job.arrivals_seed, capacity_hz)
        samples = session.simulate(Scheduled(schedule.offsets_ns), rng)
        return samples, schedule.outcome(samples, lanes=1)
    if scenario.kind == "ahead":
        raise Unsupported(
            f"{scenario} queues runs on a device, and a simulated card has no queue",
            "use offline, where one follows the other",
        )
    if scenario.kind in ("multistream", "offline"):
        return simulate_at_once(session, scenario, count, rng), None
    return session.simulate(AfterCompletion(count, round(scenario.gap_us * 1e3)), rng), None
