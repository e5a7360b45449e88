"""A run folder in which everything was told: of every column, some row has a figure or a word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from app.analysis.columns.family import CaseData
from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.cases.column import Row
from app.cases.jobs import PHASES, AccuracyResult, ColdStart, cold_start_subject_of, subject_of
from app.cases.round import FIRST_OF_SHAPE, MEASURED, RECORD, Check, Imported, OpenLoop, RoundResult
from app.cases.scenario import Batcher, Condition, Scenario, Shapes
from app.cases.telemetry import GpuState, Interference, Reading
from app.cases.user_files import UserFiles
from app.plan.plan import Plan
from app.plan.reference_cases import null_case
from app.run_folder.folder import TELEMETRY, RunFolder, samples_name, telemetry_name
from app.run_folder.journal import ModelExported
from app.run_folder.run import Run
from app.runs.reader import read_run
from exporters.codec import to_json
from exporters.diagnostics import diagnostic
from exporters.types import Disagreement, ExportedModel
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

NEVER_FILLED = {
    *(
        "ci_missing_reason",
        "upper_bound_missing_reason",
        "mlperf_missing_reason",
        "deadline_ci_missing_reason",
        "scaling_missing_reason",
    ),
}
"""They tell what is empty."""
OPEN_LOOP = OpenLoop(
    "a" * 64, due=600, left=0, seconds=0.75, utilisation=0.3, start_requests=60, start_s=0.1
)
ROUNDS = 6
LATENCY_US = 400.0
RUNS = 24_000
"""So many support a p99.9 with its interval, and last long enough for the energy of a counter."""
FACTS = {
    **{"device_min_us": 29.0, "device_p99_us": 31.0, "device_runs": 1000},
    **{"launch_p50_us": 9.0, "device_bound": "compute"},
    **{"h2d_p50_us": 1.5, "device_p50_us": 30.0, "d2h_p50_us": 2.5, "cycles": 1200, "io_us": 0.5},
    **{"weight_tiles_used": 7, "weight_tiles_total": 384, "fidelity": "extrapolated"},
    **{"fidelity_reason": "a GRU", "card_release": "sdk26"},
    **{"memory_places": 6, "activation_bytes": 3072, "spilled_bytes": 1024},
    **{"sync": "spin", "host_memory": "pinned", "device_memory_source": "sizes"},
}
ON_GPU = GpuState("H", "GPU-b", "580.95", 700.0, 1980.0, True, True, False, "PCIe 5 x16", "3g.40gb")
PLACE = {"affinity": [2, 3], "numa_nodes": [0], "scheduler": "fifo 10", "memory_locked": True}
PLACE["huge_page_fraction"] = 0.75
INTERFERENCE = Interference(
    seconds=9.0,
    steal_share=0.01,
    voluntary_switches=3,
    involuntary_switches=90,
    minor_faults=10,
    major_faults=2,
    interrupts=9000,
    cpu_mhz=(*[1800.0] * 10, *[2500.0] * 10, 2600.0),
    temperature_c=61.0,
)
CHECK = Check(
    "torch",
    1e-6,
    1e-7,
    0.999,
    1e-4,
    True,
    references=("torch", "onnx"),
    agrees_with=("torch",),
    disagreements=(Disagreement("torch", "onnx", "y", 0.5, node="a", operator="Add"),),
    slice="axis 1, index 3",
    slice_error=1e-5,
)
MODEL = ExportedModel(
    name="net",
    suite="layers",
    family="dense",
    path="net.onnx",
    sha256="5" * 64,
    opset=20,
    precision="fp32",
    inputs=(),
    outputs=(),
    axes={"batch": 4, "sequence": 16},
    references={},
    reference="torch",
    batch="batch",
    sequence="sequence",
    layers=3,
    width=64,
    parameters=4096,
    parameters_with_buffers=4160,
    macs=262144,
    inputs_drawn="x normal",
)


def filled_csv(path: Path) -> tuple[list[Row], Path]:
    """The rows of such a folder, made at `path`, and its `results.csv`."""
    weights = path.with_name("w.safetensors")
    weights.write_bytes(b"weights")
    case = Case(
        "net",
        "ort-cpu:1@ort127",
        axes=MODEL.axes,
        options={"sessions": 2},
        suite="layers",
        given=UserFiles.of_paths({"weights": str(weights)}),
    )
    cases = (case, replace(case, scenario=Scenario("paced", 20.0)))
    compared_cases = tuple(
        Case("net", runtime, axes=MODEL.axes) for runtime in ("ort-cpu", "torch-cpu")
    )
    arriving = Case("net", "ort-cpu", scenario=Scenario.parse("burst:8@10ms"))
    cold = replace(compared_cases[0], condition=Condition.parse("cold:64MB"))
    all_cases = (*cases, arriving, *compared_cases, cold, *cases_asked_for(compared_cases[0]))
    manifest = manifest_of((*all_cases, *map(null_case, all_cases)), ROUNDS)
    judge = ["p50", "p99", "mean", "throughput"]
    settings = {"baseline": "ort-cpu", "judge": judge, "deadline_us": LATENCY_US + 50, "null": True}
    manifest = replace(
        manifest,
        plan={**manifest.plan, **settings},
        assumed_sizes={case.model: {"batch": case.axes["batch"]}},
    )
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        folder.record(ModelExported(case.model, case.precision, MODEL))
        folder.record(AccuracyResult(subject_of(case, MODEL).case_id, "data.npz", 0.75, 100, 64))
        for compared_case in cases:
            for number in range(ROUNDS):
                _record_case(folder, compared_case, number)
        for number in range(ROUNDS):
            record(folder, arriving, number, [LATENCY_US] * 600, open_loop=OPEN_LOOP)
            for compared_case, factor in zip(compared_cases, (1.0, 1.0 + number / 10), strict=True):
                # The last 150 runs share their core.
                core = Interference(
                    seconds=1.0,
                    block_starts_ns=(0, 0, 0, round(450e3 * LATENCY_US * factor)),
                    cpu_mhz=(2500.0 / factor,) * 4,
                    core_widths=(4.0, 4.0, 4.0, 2.0),
                )
                latencies = [LATENCY_US * factor] * 450 + [LATENCY_US * factor * 1.3] * 150
                record(folder, compared_case, number, latencies, interference=core)
        record(folder, cold, 0, [LATENCY_US] * 600, facts={"evicted_mb": 64.0, "eviction_ms": 9.0})
        fill_asked_for(folder, compared_cases[0], ROUNDS, LATENCY_US)
        rows = Rows().of(read_run(path))
        write_tables(folder, rows)
    return rows, path / "results.full.csv"


def _record_case(folder: RunFolder, case: Case, number: int) -> None:
    latencies = [LATENCY_US + number + k % 100 for k in range(RUNS)]
    latencies[RUNS // 2] *= 5
    record(
        folder,
        case,
        number,
        latencies,
        "partial",
        warmup=3,
        reason="node 'a' ran elsewhere",
        warnings=(diagnostic("device_caches_warm"),),
        started_at_utc="2026-01-02T03:04:05.678+00:00",
        phases_ms={"compile": 12.5, "first_inference": 0.75},
        warmup_s=0.25,
        settled=True,
        stop_reason="min_time",
        call_path="run_with_iobinding",
        execution_provider="CPUExecutionProvider",
        precision="fp32",
        runtime_version="1.31.1",
        engine_distribution="onnxruntime",
        engine_path="/envs/ort127/onnxruntime/__init__.py",
        device_name="a processor",
        harness_floor_ns=80.0,
        check=CHECK,
        facts=FACTS,
        rss_peak_mb=123.0,
        device_memory_peak_mb=45.0,
        options={"sessions": 2},
        concurrency=2,
        environment={"load_1min": 0.5, **PLACE, "gpu": ON_GPU},
        interference=INTERFERENCE,
    )
    counted = [
        Reading(
            round(t * 1e9),
            "gpu:0",
            energy_mj=5e4 * t,
            clock_mhz=1500.0,
            throttle=("thermal",),
            memory_clock_mhz=3201.0,
            other_processes=0,
            mps_clients=2,
        )
        for t in (0.2, 0.5, 1.0)
    ]
    text = "".join(json.dumps(to_json(reading)) + "\n" for reading in counted)
    telemetry = folder.path / TELEMETRY
    telemetry.mkdir(exist_ok=True)
    (telemetry / telemetry_name(case.case_id, number)).write_text(text)


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
        speeds_us = ([1.1 * latency_us] * 60 + [1.5 * latency_us] * 60) * 5
        record(folder, replicas, number, speeds_us, concurrency=2)
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


def of_rounds(rounds: Sequence[RoundResult]) -> CaseData:
    """What columns that take the rounds alone are filled from."""
    return CaseData(cast(Run, None), CASE, cast(Plan, None), rounds)
