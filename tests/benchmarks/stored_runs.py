"""Run folders of any size as a sweep leaves them, without measuring: for benchmarks of readers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zlib import crc32

import numpy as np

from app.cases.case import Case
from app.cases.round import MEASURED, RECORD, WARMUP, Check, RoundResult
from app.cases.telemetry import Disturbance, Interference
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.files import text_digest
from app.run_folder.folder import RunFolder, samples_name
from app.run_folder.journal import FOLDER, ModelExported, Writer, journal_text, line_values
from app.run_folder.manifest import MANIFEST, Manifest
from exporters.diagnostics import diagnostic
from exporters.types import ExportedModel
from runtimes.options import OptionValue
from tests.app.run_folder.runs import manifest_of

WARMUP_RUNS = 40
_RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu", "fake")
_PER_MODEL = 24
_OPTIONS: dict[str, OptionValue] = {
    "latency_us": 100.0,
    "distribution": "constant",
    "wait": "spin",
    "seed": 0,
    "sessions": 1,
}
_ENVIRONMENT = {"host": "bench", "cpu": "EPYC", "cores_usable": 2, "load_1min": 0.1}
_FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)
_DISTURBED_SHARE = 0.3


def stored_run(
    path: Path,
    cases: int,
    rounds: int = 3,
    runs: int = 400,
    seed: int = 1,
    percentiles: tuple[float, ...] = (),
) -> Path:
    """A folder of log-normal latencies in sealed journal lines, 24 cases of a model.

    Two runs of different `seed` have the same cases and other samples. The journal is written
    at once: a flush for each round is a cost of a sweep and of no reader.
    """
    planned_cases = [
        Case(
            f"net{place // _PER_MODEL}.onnx",
            _RUNTIMES[place % len(_RUNTIMES)],
            axes={"batch": 1 << place // len(_RUNTIMES) % (_PER_MODEL // len(_RUNTIMES))},
        )
        for place in range(cases)
    ]
    with RunFolder.create(path, _manifest(planned_cases, rounds, percentiles)) as folder:
        manifest = folder.manifest
    digest = text_digest((path / MANIFEST).read_bytes())
    writer = Writer("made", 1, "bench", "0.1.0", _ENVIRONMENT, manifest.run_id, digest)
    models = (
        ModelExported(name, "fp32", _model(name))
        for name in dict.fromkeys(case.model for case in planned_cases)
    )
    with (path / FOLDER / "made.jsonl").open("wb") as journal:
        journal.write(journal_text([line_values(writer), *map(line_values, models)]))
        for result in _rounds(path / "samples", planned_cases, rounds, runs, seed):
            journal.write(journal_text([line_values(result)]))
    return path


def _manifest(planned_cases: list[Case], rounds: int, percentiles: tuple[float, ...]) -> Manifest:
    if not percentiles:
        return manifest_of(planned_cases, rounds)
    plan = Plan(sweeps=(Sweep(models=("mlp",)),), percentiles=percentiles)
    return manifest_of(planned_cases, rounds, plan)


def _rounds(
    folder: Path, planned_cases: list[Case], rounds: int, runs: int, seed: int
) -> Iterator[RoundResult]:
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        for place, case in enumerate(planned_cases):
            level_ns = (20_000 + 37 * place) * (1.0 + 0.01 * rng.standard_normal())
            latency_ns = level_ns * rng.lognormal(0.0, 0.05, WARMUP_RUNS + runs)
            records = np.zeros(WARMUP_RUNS + runs, RECORD)
            records["finished_ns"] = np.cumsum(latency_ns)
            records["started_ns"] = records["finished_ns"] - latency_ns.astype(np.int64)
            records["scheduled_ns"] = records["started_ns"]
            records["phase"] = [WARMUP] * WARMUP_RUNS + [MEASURED] * runs
            name, data = samples_name(case.case_id, number), records.tobytes()
            (folder / name).write_bytes(data)
            start = _FIRST_START + timedelta(seconds=number * 600 + place / 10)
            yield _round(case, number, name, crc32(data), records, start, rng.random())


def _round(
    case: Case,
    number: int,
    name: str,
    checksum: int,
    records: np.ndarray,
    start: datetime,
    random_share: float,
) -> RoundResult:
    first_ns, last_ns = int(records["started_ns"][0]), int(records["finished_ns"][-1])
    switches = int(40 * random_share) if random_share < _DISTURBED_SHARE else 0
    disturbance = Disturbance(first_ns, last_ns, 0.0, switches, 0, False, False)
    return RoundResult(
        case.case_id,
        number,
        "ok",
        warnings=(diagnostic("cpu_oversubscribed", load_1min=2.5, cores=2),) if switches else (),
        started_at_utc=start.isoformat(timespec="milliseconds"),
        phases_ms={"import": 12.5, "compile": 11.25, "first_inference": 0.25, "measure": 300.0},
        samples=name,
        iterations=len(records) - WARMUP_RUNS,
        duration_s=(last_ns - first_ns) * 1e-9,
        warmup_iterations=WARMUP_RUNS,
        warmup_s=0.3,
        settled=True,
        stop_reason="min_time",
        call_path="a Python function that waits, timed in Python",
        execution_provider=case.runtime,
        precision="fp32",
        runtime_version="1",
        device_name="fake",
        harness_floor_ns=80.0,
        check=Check(
            "torch",
            0.0,
            0.0,
            1.0,
            1e-4,
            True,
            "y",
            references=("torch", "onnx"),
            agrees_with=("torch", "onnx"),
        ),
        rss_peak_mb=40.0 + random_share,
        environment={"load_1min": 2.5, "affinity": [1], "threads": 1, "memory_locked": False},
        options=_OPTIONS,
        interference=Interference(
            seconds=(last_ns - first_ns) * 1e-9,
            steal_share=0.0,
            voluntary_switches=0,
            involuntary_switches=switches,
            minor_faults=44,
            major_faults=0,
            interrupts=235,
            disturbances=(disturbance,),
        ),
        samples_crc32=checksum,
        model_sha256="a" * 64,
    )


def _model(name: str) -> ExportedModel:
    return ExportedModel(
        name=name,
        suite="",
        family="mlp",
        path=f"/{name}",
        sha256="a" * 64,
        opset=20,
        precision="fp32",
        inputs=(),
        outputs=(),
        axes={"batch": 1},
        references={},
        reference="",
    )
