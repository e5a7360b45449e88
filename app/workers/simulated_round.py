"""The measured part of a round on a simulated card: samples from its schedule, not from a clock."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.cases.round import MEASURED, RECORD
from app.stats.quantiles import order_statistic
from app.workers.check import why_wrong
from app.workers.sampling import Progress
from app.workers.under_way import UnderWay
from exporters.types import Reference
from runtimes.base import Session
from runtimes.execution import AfterCompletion
from runtimes.faults import Unsupported


def simulate_round(this: UnderWay, session: Session, reference: Reference) -> None:
    """Take the samples from the simulator; a graph it holds only in part has no latency."""
    job = this.job
    if job.model.rotation:
        raise Unsupported(
            "a simulated card takes as long whatever it is fed", "leave --rotate-inputs out"
        )
    check = this.check(session, reference)
    if this.result.status == "partial":
        # Without a timing that a wrong output could put in doubt, the nodes come first.
        this.note(check=check, stop_reason="partial")
        if check is not None and not check.output_ok:
            this.warn(why_wrong(check, this.result.concurrency))
        return
    this.note_check(check)
    this.enter("measure")
    arrivals = AfterCompletion(job.limits.simulated_samples, round(job.scenario.gap_us * 1e3))
    samples = session.simulate(arrivals, np.random.default_rng(job.seed))
    records = np.zeros(len(samples.started_ns), dtype=RECORD)
    records["scheduled_ns"] = samples.scheduled_ns
    records["started_ns"] = samples.started_ns
    records["finished_ns"] = samples.finished_ns
    records["phase"] = MEASURED
    with this.samples_file() as file:
        file.write(records.tobytes())
    latency_ns = np.sort(samples.latency_ns)
    p50_ns, p99_ns = (order_statistic(latency_ns, q) for q in (0.5, 0.99))
    this.report(Progress("measure", len(records), latency_ns.sum() / 1e9, p50_ns, p99_ns))
    this.note(
        # The cycles depend on the pacing, so they are known only now.
        facts=dict(session.execution.facts),
        samples=Path(job.samples_path).name,
        iterations=len(records),
        duration_s=float(samples.finished_ns[-1] - samples.scheduled_ns[0]) / 1e9,
        stop_reason="simulated",
    )
