"""A small streaming model and a way to run it through a real measuring process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from app.cases.case import Case
from app.cases.process_settings import ProcessSettings
from app.cases.round import RECORD, Limits, MeasureJob, NeighbourJob, RoundResult
from app.cases.scenario import Batcher, Condition, Scenario
from exporters import install_layout
from exporters.codec import from_json, to_json
from exporters.types import (
    ExportedModel,
    Precision,
    Reference,
    StatePair,
    TensorSpec,
    axes_key,
    save_reference,
)
from runtimes.options import Settings
from tests.exporters.support import model_of

AXES = {"batch": 1}
AS_USUAL = ProcessSettings()
SHORT = Limits(min_s=0.05, max_s=1.0, min_samples=10, warmup_min_s=0.02, warmup_max_s=0.5)

Measure = Callable[..., tuple[RoundResult, np.ndarray, list[dict[str, Any]]]]
Shapes = Mapping[str, tuple[str | int, ...]]


def float_model(
    path: Path,
    inputs: Shapes,
    outputs: Shapes,
    references: Mapping[str, str],
    reference: str = "onnx",
    states: tuple[StatePair, ...] = (),
) -> ExportedModel:
    """The graph at `path` as the export process would hand it over."""
    ends = [
        tuple(TensorSpec(name, "float32", shape) for name, shape in shapes.items())
        for shapes in (inputs, outputs)
    ]
    return ExportedModel(
        name=path.stem,
        suite="",
        family="",
        path=str(path),
        sha256="",
        opset=20,
        precision="fp32",
        inputs=ends[0],
        outputs=ends[1],
        axes=AXES,
        references=references,
        reference=reference,
        states=states,
        batch="batch",
    )


@pytest.fixture
def counter(tmp_path: Path) -> ExportedModel:
    """y = x + total, and total grows by x with each step: its state shows in its output."""
    path, sizes = tmp_path / "counter.onnx", ("batch", 4)
    text = """(float[batch,4] x, float[batch,4] total) =>
    (float[batch,4] y, float[batch,4] total_out)
    { total_out = Add(x, total) y = Identity(total_out) }"""
    onnx.save(model_of(text), path)
    x, total = np.ones((1, 4), np.float32), np.full((1, 4), 2.0, np.float32)
    reference = tmp_path / "reference.npz"
    outputs = {"y": x + total, "total_out": x + total}
    save_reference(str(reference), Reference({"x": x, "total": total}, outputs))
    return float_model(
        path,
        {"x": sizes, "total": sizes},
        {"y": sizes, "total_out": sizes},
        {axes_key(AXES): str(reference)},
        reference="torch",
        states=(StatePair("total", "total_out"),),
    )


_START = (
    "import runpy\n"
    f"runpy.run_module({install_layout.module_name('app.workers.measure')!r}, run_name='__main__')"
)


@pytest.fixture
def measure(tmp_path: Path, counter: ExportedModel) -> Measure:
    """Run one round in a real process: its result, its sample records, all its events.

    `said_first` is Python that the process runs before it begins; with `stopped` it is asked to
    stop as soon as it measures. A test of a card is skipped where the card's engine is not built.
    """

    def run(
        runtime: str = "ort-cpu",
        *,
        options: Mapping[str, Any] | None = None,
        scenario: str = "closed_loop",
        limits: Limits = SHORT,
        samples: Path = tmp_path / "samples.bin",
        model: ExportedModel = counter,
        affinity: tuple[int, ...] = (),
        shared: bool = False,
        asked: ProcessSettings = AS_USUAL,
        before: Callable[[], None] | None = None,
        threads: int = 1,
        precision: Precision = "fp32",
        condition: str | Condition = "none",
        batcher: Batcher | None = None,
        neighbour: NeighbourJob | None = None,
        said_first: str = "pass",
        stopped: bool = False,
    ) -> tuple[RoundResult, np.ndarray, list[dict[str, Any]]]:
        job = MeasureJob(
            case=Case(
                model.name,
                runtime,
                scenario=Scenario.parse(scenario),
                condition=Condition.parse(condition) if isinstance(condition, str) else condition,
                batcher=batcher,
            ),
            round=0,
            model=model,
            axes=AXES,
            settings=Settings(precision, threads, options=options or {}),
            limits=limits,
            seed=7,
            samples_path=str(samples),
            asked=asked,
            affinity=affinity,
            shared=shared,
            batches=tuple(model.at({"batch": size}) for size in batcher.sizes) if batcher else (),
            neighbour=neighbour,
            shapes=() if isinstance(condition, str) else condition.points,
        )
        with subprocess.Popen(
            [sys.executable, "-c", f"{said_first}\n{_START}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,  # noqa: PLW1509 - the tests have no other threads
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps(to_json(job)) + "\n")
            child.stdin.flush()
            events = []
            for event in map(json.loads, child.stdout):
                if stopped and event["event"] == "progress" and event["phase"] == "measure":
                    child.stdin.write("stop\n")
                    child.stdin.flush()
                    stopped = False
                events.append(event)
        assert child.returncode == 0
        result = {key: value for key, value in events[-1].items() if key != "event"}
        if runtime == "fpga" and result["status"] == "unavailable":
            pytest.skip(result["reason"])
        records = np.fromfile(samples, RECORD) if samples.is_file() else np.zeros(0, RECORD)
        return from_json(RoundResult, result), records, events

    return run
