"""What fills the columns that are there when they were asked for: twins, batchers, long rounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.cases.case import Case
from app.cases.jobs import PHASES, ColdStart, cold_start_subject_of
from app.cases.round import FIRST_OF_SHAPE, MEASURED, RECORD, Imported
from app.cases.scenario import Batcher, Condition, Scenario, Shapes
from app.plan.reference_cases import null_case
from app.run_folder.folder import RunFolder, samples_name
from tests.app.run_folder.runs import record

STARTS = 60
FIRST = 400
"""First runs enough to support a p99: as if there had been so many processes."""
ENDS = {
    "sustained_first_clock_mhz": 3000.0,
    "sustained_last_clock_mhz": 2900.0,
    "sustained_first_temperature_c": 50.0,
    "sustained_last_temperature_c": 70.0,
    "sampled_fraction": 0.5,
}
CHECKED = {
    "check_level": "built",
    "engine_size_mib": 1.5,
    "refused_node": "/c/Conv",
    "fallback_ops": "Resize 2, Loop 1",
    "partitions": 3,
    "splitting_nodes": "Resize 'up' on CPUExecutionProvider",
}
BESIDE = {"colocated_runs_per_s": 4000.0, "colocated_busy_fraction": 1.0}


THEIRS = Imported("trtexec", "10.0", "times.json", "c" * 64, "CUDA events", "copies and compute")
SHAPES = Shapes(("batch",), ((1,), (8,)), (3.0, 1.0))


def cases_asked_for(plain: Case) -> tuple[Case, Case, Case, Case, Case, Case, Case]:
    """A batcher's, a sustained one, one beside another, one of several shapes, one that jumps
    between two levels and stalls at a beat, two sessions of one, and one that another program
    measured; each case of the folder has a twin."""
    arriving = replace(plain, scenario=Scenario.parse("poisson:2000/s"))
    return (
        replace(arriving, batcher=Batcher(2, 100.0)),
        replace(plain, condition=Condition.parse("sustained:2s")),
        replace(plain, condition=Condition.parse("with:mlp")),
        replace(plain, axes={}, condition=Condition("shapes", file="mix.csv", shapes=SHAPES)),
        replace(plain, threads=3),
        replace(plain, options={"sessions": 2}),
        Case("net", "imported:trtexec"),
    )


def fill_asked_for(folder: RunFolder, plain: Case, rounds: int, latency_us: float) -> None:
    batch_case, sustained_case, neighbour_case, shape_case, jumping, replicas, imported_case = (
        cases_asked_for(plain)
    )
    two_levels = [latency_us, 1.5 * latency_us] * 600
    for number in range(rounds):
        stall_latencies = [
            (9 * us if k % 50 == 0 else us) + k % 7 for k, us in enumerate(two_levels)
        ]
        record(folder, jumping, number, stall_latencies)
        record(folder, null_case(plain), number, [latency_us / 10] * 600)
        record(folder, replicas, number, [1.1 * latency_us] * 600, concurrency=2)
        _record_batches(folder, batch_case, number)
    slower = [latency_us] * 1700 + [1.2 * latency_us] * 1700
    record(folder, sustained_case, 0, slower, facts=ENDS)
    record(folder, neighbour_case, 0, [latency_us] * 600, facts=BESIDE | CHECKED)
    _record_shapes(folder, shape_case, latency_us)
    record(
        folder, imported_case, 0, [latency_us] * 600, "imported", clock="imported", imported=THEIRS
    )
    subject = cold_start_subject_of(plain).case_id
    for process in range(STARTS):
        folder.record(ColdStart(subject, process, dict.fromkeys(PHASES, 10.0 + process)))
    folder.record(ColdStart(subject, STARTS, reason="it was ended"))


def _record_shapes(folder: RunFolder, case: Case, latency_us: float) -> None:
    """The second shape's runs take twice as long, and those before anything was seen far longer."""
    latencies = [10 * latency_us] * FIRST + [latency_us, 2 * latency_us] * 600
    facts = {"shapes_sha256": "b" * 64}
    record(folder, case, 0, latencies, facts=facts, iterations=len(latencies) - FIRST)
    path = folder.samples / samples_name(case.case_id, 0)
    records = np.fromfile(path, RECORD)
    records["phase"][:FIRST] = FIRST_OF_SHAPE
    records["lane"] = [1] * FIRST + [0, 1] * 600
    path.write_bytes(records.tobytes())


def _record_batches(folder: RunFolder, case: Case, number: int) -> None:
    """Two requests 40 us apart are sent together once the second is there."""
    record(folder, case, number, [100.0] * 1200)
    records = np.zeros(1200, RECORD)
    first = np.repeat(np.arange(600) * 1_000_000, 2)
    records["scheduled_ns"] = first + np.tile([0, 40_000], 600)
    records["started_ns"] = first + 41_000
    records["finished_ns"] = first + 141_000
    records["phase"] = MEASURED
    (folder.samples / samples_name(case.case_id, number)).write_bytes(records.tobytes())
