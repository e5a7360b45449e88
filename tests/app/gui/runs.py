"""Run folders and models for the window's tests: written by the real writer, small and quick."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.cases.round import WARMUP, RoundResult
from app.cases.status import Status
from app.gui.launch import BatchChild
from app.plan.plan import Plan, parse_plan
from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live, LiveFile
from app.runs.reader import read_run
from exporters.diagnostics import Diagnostic
from tests.app.gui import synthetic
from tests.app.run_folder.runs import ENVIRONMENT, PLAN, manifest_of, record
from tests.exporters.support import model_of


def tiny_model(path: Path) -> Path:
    """One Relu over 8 floats."""
    onnx.save(model_of("(float[1,8] x) => (float[1,8] y) { y = Relu(x) }"), path)
    return path


def fake_plan(model: Path, name: str = "t", rounds: int = 1, **options: Sequence) -> Plan:
    """A sweep of one model on the scripted runtime, which sleeps, its options as
    `fail=["crash"]`."""
    options = {"latency_us": [3000], "wait": ["sleep"], **options}
    sweep = {
        "models": [str(model)],
        "runtimes": ["fake"],
        "options": {f"fake.{key}": list(values) for key, values in options.items()},
    }
    return parse_plan({"name": name, "rounds": rounds, "sweeps": [sweep]}, "test")


def records(latencies_us: Iterable[float], warmup: int = 0) -> np.ndarray:
    """RECORD records back to back; the first `warmup` of them are marked so."""
    latency_ns = np.round(np.asarray(list(latencies_us)) * 1e3).astype(np.int64)
    return synthetic.records(latency_ns, warmup=warmup)


def new_run(path: Path, cases: Sequence[Case], rounds: int = 1, plan: Plan = PLAN) -> RunFolder:
    """A run folder that is being written by this process; `close` it to end that."""
    folder = RunFolder.create(path, manifest_of(cases, rounds, plan))
    folder.begin(ENVIRONMENT)
    return folder


def steady(place: int, number: int) -> list[float]:
    """Runs of a case by its place, in microseconds: the higher, the slower; quick at round 0."""
    return [50.0 + 9 * place + number % 2 + k % 7 for k in range(400)]


def measured_run(
    path: Path,
    cases: Sequence[Case],
    latencies_us: Callable[[int, int], Iterable[float]] = steady,
    *,
    rounds: int = 1,
    plan: Plan = PLAN,
    warned: Mapping[int, Sequence[Diagnostic]] | None = None,
    statuses: Mapping[int, Status] | None = None,
) -> Path:
    """A run that has ended; by a case's place what it was warned of, and how it failed."""
    with new_run(path, cases, rounds, plan) as folder:
        for place, case in enumerate(cases):
            for number in range(rounds):
                status, warnings = (statuses or {}).get(place, "ok"), (warned or {}).get(place, ())
                latencies = [*latencies_us(place, number)]
                reason = "" if status == "ok" else "scripted"
                facts: dict[str, Any] = {"warnings": tuple(warnings), "reason": reason}
                record(folder, case, number, latencies, status, **facts)
        total = rounds * len(cases)
        live = Live("finished", rounds_total=total, rounds_done=total)
        LiveFile(folder).write(live, always=True)
        write_tables(folder, Rows().of(read_run(path)))
    return path


def sample_path(folder: RunFolder, case: Case, number: int) -> Path:
    return folder.samples / f"{case.case_id}.{number}.bin"


def wait_for_end(child: BatchChild, seconds: float = 30.0) -> int | None:
    """The exit code of a batch process; None if it does not end in time."""
    deadline = time.monotonic() + seconds
    while (code := child.exit_code()) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return code


def record_round(
    folder: RunFolder, case: Case, number: int, samples: np.ndarray, status: Status = "ok"
) -> None:
    """Write a round's samples and its line, as the batch process does."""
    path, warmup = sample_path(folder, case, number), int((samples["phase"] == WARMUP).sum())
    path.write_bytes(samples.tobytes())
    folder.record(
        RoundResult(
            case.case_id, number, status, "" if status == "ok" else "scripted",
            samples=path.name if len(samples) else "",
            iterations=len(samples) - warmup, warmup_iterations=warmup,
        )
    )  # fmt: skip
