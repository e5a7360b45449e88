"""What every benchmark needs: a model from the export process, a round from a real worker."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from app.cases.round import MEASURED, RECORD, Limits, MeasureJob, RoundResult
from app.cases.scenario import Scenario, WaitPolicy
from exporters.codec import from_json, to_json
from exporters.messages import ExportReply, ExportRequest
from exporters.types import ExportedModel
from runtimes.options import OptionValue, Settings
from runtimes.registry import parse_spec


def export(model: str, axes: Mapping[str, int]) -> ExportedModel:
    """The model from a real export process, with a reference at `axes`."""
    request = ExportRequest(model, points=(axes,))
    process = subprocess.run(
        [sys.executable, "-m", "exporters.worker"],
        input=json.dumps(to_json(request)) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    reply = from_json(ExportReply, json.loads(process.stdout.splitlines()[-1]))
    if reply.model is None:
        raise RuntimeError(reply.reason)
    return reply.model


def measure(
    model: ExportedModel,
    axes: Mapping[str, int],
    runtime: str = "ort-cpu",
    limits: Limits | None = None,
    scenario: Scenario | None = None,
) -> tuple[RoundResult, np.ndarray]:
    """One round in a fresh process: its result and its measured latencies in ns [n]."""
    result, records = sample(model, axes, runtime, limits, scenario)
    return result, records["finished_ns"] - records["started_ns"]


def sample(
    model: ExportedModel,
    axes: Mapping[str, int],
    runtime: str = "ort-cpu",
    limits: Limits | None = None,
    scenario: Scenario | None = None,
    options: Mapping[str, OptionValue] | None = None,
    wait_policy: WaitPolicy = "spin",
) -> tuple[RoundResult, np.ndarray]:
    """One round in a fresh process: its result and its measured `RECORD` records [n]."""
    spec = parse_spec(runtime)
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.bin"
        job = MeasureJob(
            case_id="benchmark",
            round=0,
            model=model,
            axes=axes,
            runtime=runtime,
            settings=Settings(device=spec.device, release=spec.release, options=options or {}),
            scenario=scenario or Scenario(),
            wait_policy=wait_policy,
            limits=limits or Limits(),
            seed=0,
            samples_path=str(samples),
        )
        child = subprocess.Popen(
            [sys.executable, "-m", "app.workers.measure"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(to_json(job)) + "\n")
        child.stdin.flush()
        events = [json.loads(line) for line in child.stdout]
        child.wait()
        result = {k: v for k, v in events[-1].items() if k != "event"}
        records = np.fromfile(samples, dtype=RECORD)
    return from_json(RoundResult, result), records[records["phase"] == MEASURED]
