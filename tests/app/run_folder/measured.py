"""Run folders that look measured: samples are drawn from a generator whose stream numpy guarantees,
the host, the times and the ids are constants. So what Graphlap shows of one depends on its code
alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.cases.round import Check
from app.cases.telemetry import Interference
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.manifest import Manifest
from app.runs.reader import read_run
from tests.app.analysis.columns.filled import MODEL
from tests.app.run_folder.runs import manifest_of, record

HOST = {
    "host": "testhost",
    "cpu": "Example CPU 3000",
    "cores_usable": 2,
    "memory_bytes": 8 * 2**30,
    "os": "Linux 6.0",
    "virtual_machine": True,
    "load_1min": 0.5,
    "packages": {"onnxruntime": "1.30.0", "openvino": "2026.3.0"},
}
STARTED = "2026-01-02T03:04:05.678+00:00"
CPU = ("ort-cpu", "openvino-cpu", "torch-cpu")
V80 = "fpga:v80"
ROUNDS, RUNS = 5, 400
QUIET = Interference(
    seconds=1.0,
    steal_share=0.0,
    voluntary_switches=2,
    involuntary_switches=0,
    minor_faults=10,
    major_faults=0,
    interrupts=900,
    cpu_mhz=(2500.0,) * 21,
)
CHECK = Check("torch", 1e-7, 1e-7, 1.0, 1e-4, True, references=("torch",), agrees_with=("torch",))


@dataclass(frozen=True, slots=True)
class Speed:
    """A case's typical latency, how much rounds differ, and which share of the runs is slow."""

    us: float
    spread: float = 0.01
    slow: float = 0.0


def latencies_us(case: Case, number: int, speed: Speed, runs: int = RUNS) -> list[float]:
    """The runs of one round."""
    draw = np.random.RandomState(zlib.crc32(f"{case.case_id} {number}".encode()))
    level = speed.us * (1.0 + speed.spread * draw.standard_normal())
    random_latencies = level * (1.0 + 0.01 * np.abs(draw.standard_normal(runs)))
    random_latencies[draw.random_sample(runs) < speed.slow] *= 4.0
    return [round(value, 3) for value in random_latencies.tolist()]


def manifest(name: str, cases: Sequence[Case], rounds: int = ROUNDS, **plan: Any) -> Manifest:
    """The manifest of a run of these cases."""
    models = tuple(dict.fromkeys(case.model for case in cases))
    sweep_plan = Plan(**{"sweeps": (Sweep(models=models),), "name": name, "rounds": rounds, **plan})
    return replace(
        manifest_of(cases, rounds, sweep_plan),
        name=name,
        run_id=f"{zlib.crc32(name.encode()):012x}",
        created_at_utc=STARTED,
        graphlap_version="1.0.0",
        environment=HOST,
        started_in="",
    )


def measure(
    folder: RunFolder, case: Case, speed: Speed, rounds: int = ROUNDS, **facts: Any
) -> None:
    """All rounds of a case, of an engine that gave the right outputs."""
    simulated = case.runtime.startswith("fpga")
    usual: dict[str, Any] = {
        "clock": "simulated" if simulated else "wall",
        "environment": {"load_1min": HOST["load_1min"]},
        "check": CHECK,
        "precision": "bf16" if simulated else "fp32",
        "runtime_version": "1.30.0",
        "started_at_utc": STARTED,
        "phases_ms": {"compile": 12.5, "first_inference": 0.75},
        "interference": None if simulated else QUIET,
    }
    for number in range(rounds):
        runs = [speed.us] * RUNS if simulated else latencies_us(case, number, speed)
        record(folder, case, number, runs, **usual | facts)


def export(folder: RunFolder, cases: Sequence[Case]) -> None:
    """What is known of each model once it is exported."""
    for model in dict.fromkeys(case.model for case in cases):
        suite = "" if model.endswith(".onnx") else "layers"
        exported_model = replace(
            MODEL, name=Path(model).stem, suite=suite, axes={"batch": 1}, sequence=None
        )
        folder.record(ModelExported(model, "fp32", exported_model))


def make(
    path: Path,
    cases: Sequence[Case],
    fill: Callable[[RunFolder], None],
    host: Mapping[str, Any] = HOST,
    **plan: Any,
) -> Path:
    """A run folder at `path`, named after it, with what `fill` writes and its table."""
    first_manifest = replace(manifest(path.name, cases, **plan), environment=host)
    with RunFolder.create(path, first_manifest) as folder:
        folder.begin(host)
        export(folder, cases)
        fill(folder)
        write_tables(folder, Rows().of(read_run(path)))
    return path
