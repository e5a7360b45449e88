"""Small graphs, short limits and a driver of engines, for the tests of whole sweeps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import psutil
from onnx import TensorProto, helper

from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import Limits, MeasureJob, RoundResult
from app.plan.plan import EMPTY, Plan, parse_plan
from app.run_folder.folder import RunFolder
from app.sweep.engine import Completed, Engine, Event
from app.sweep.run import SweepRun
from app.sweep.work.base import Work
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply
from exporters.types import ExportedModel, Reference, TensorSpec, axes_key, save_reference
from runtimes.options import OptionValue, Settings
from tests.app.run_folder.runs import ENVIRONMENT

SHORT = Limits(
    min_s=0.1,
    max_s=1.0,
    min_samples=20,
    warmup_min_s=0.0,
    warmup_max_s=0.1,
    warmup_min_iterations=2,
)
IN_ROUNDS = EMPTY.model_copy(update={"pairing": "rounds"})
DEADLINE_S = 240.0
"""No sweep of these tests takes so long, whatever else the machine does."""


def write_add_graph(path: Path, shape: Sequence[int | str] = (2, 3)) -> Path:
    """An .onnx file that adds 1 to its input."""
    spec = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    constant = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    node = helper.make_node("Add", ["x", "one"], ["y"], name="add")
    graph = helper.make_graph([node], "add", [spec], [result], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, path)
    return path


def exported_add(folder: Path) -> ExportedModel:
    """The same graph as the export process would hand it over."""
    path = write_add_graph(folder / "add.onnx")
    inputs = {"x": np.ones((2, 3), np.float32)}
    reference = folder / "reference.npz"
    save_reference(str(reference), Reference(inputs, {"y": np.full((2, 3), 2.0, np.float32)}))
    return ExportedModel(
        name="add",
        suite="",
        family="",
        path=str(path),
        sha256="0" * 64,
        opset=20,
        precision="fp32",
        inputs=(TensorSpec("x", "float32", (2, 3)),),
        outputs=(TensorSpec("y", "float32", (2, 3)),),
        axes={},
        references={axes_key({}): str(reference)},
        reference="onnx",
        batch=2,
    )


def fake_case(model: str = "add.onnx", **options: OptionValue) -> Case:
    """A case of the scripted runtime."""
    return Case(model=model, runtime="fake", options=options)


def ok_reply(model: ExportedModel) -> ExportReply:
    return ExportReply("ok", model)


class Given:
    """A source of given work, one piece after another."""

    def __init__(self, works: Sequence[Work]) -> None:
        self.left = list(works)
        self.finished: list[Work] = []

    def next(self, finished: Sequence[Work]) -> Work | None:
        self.finished += finished
        return self.left.pop(0) if self.left else None


def round_work(
    model: ExportedModel,
    samples: Path,
    number: int = 0,
    *,
    time_limit_s: float = 30.0,
    min_s: float = SHORT.min_s,
    memory_limit_bytes: int = 0,
    **options: OptionValue,
) -> RoundWork:
    """A round of the scripted runtime that begins with the next core that is free."""
    case = fake_case("add.onnx", **options)
    job = MeasureJob(
        case=case,
        round=number,
        model=model,
        axes={},
        settings=Settings(options=options),
        limits=replace(SHORT, min_s=min_s, max_s=min_s + 1.0),
        seed=1,
        samples_path=str(samples / f"{case.case_id}.{number}.bin"),
    )
    return RoundWork(job, time_limit_s, memory_limit_bytes=memory_limit_bytes)


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


def script(path: Path, body: str) -> tuple[str, ...]:
    """The command of a worker that does what `body` says."""
    path.write_text("import json, os, signal, subprocess, sys, time\n" + body)
    return sys.executable, str(path)


@dataclass
class Heard:
    """All events of a sweep with the moment each was heard."""

    events: list[Event] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def rounds(self) -> list[tuple[RoundWork | SettledRound, RoundResult]]:
        """The rounds that ended with a result, in their order."""
        ended_work = [event.work for event in self.events if isinstance(event, Completed)]
        rounds = [work for work in ended_work if isinstance(work, RoundWork | SettledRound)]
        return [(work, work.result) for work in rounds if work.result is not None]

    @property
    def results(self) -> list[RoundResult]:
        return [result for _, result in self.rounds()]


def drive(engine: Engine, react: Callable[[Event], object] = lambda _: None) -> Heard:
    """Poll to the end, handing each event to `react`; fails if it takes unreasonably long."""
    recorder = Heard()
    deadline = time.monotonic() + DEADLINE_S
    while not engine.finished:
        assert time.monotonic() < deadline, f"no end after {recorder.events[-3:]}"
        for event in engine.poll(0.05):
            recorder.events.append(event)
            recorder.times.append(time.monotonic())
            react(event)
    return recorder


def small_plan(folder: Path, grid: Mapping[str, object] | None = None, **values: object) -> Plan:
    """One round of the graph that adds 1, on the scripted runtime, where nothing else is given."""
    graph = folder / "add.onnx"
    if not graph.exists():
        write_add_graph(graph)
    sweep = {"models": [str(graph)], "runtimes": ["fake"], **(grid or {})}
    return parse_plan({"sweeps": [sweep], "rounds": 1, **values}, "the plan")


def run_to_end(
    folder: RunFolder,
    place: ThisMachine | None = None,
    react: Callable[[Event, SweepRun], object] = lambda *_: None,
    **values: Any,
) -> list[Row]:
    """Measure all that the folder lacks, handing each event to `react`; the rows at the end."""
    with folder, SweepRun(folder, ENVIRONMENT, place=place, **values) as run:
        finish(run, react)
        return run.rows()


def finish(run: SweepRun, react: Callable[[Event, SweepRun], object]) -> None:
    """Measure to the end, within the time that a test has."""
    deadline = time.monotonic() + DEADLINE_S
    while not run.finished:
        assert time.monotonic() < deadline
        for event in run.step(0.05):
            react(event, run)
    run.close(0)


def children() -> set[int]:
    """The processes below this one; other tests may have some that outlive them."""
    return {child.pid for child in psutil.Process().children(recursive=True)}
