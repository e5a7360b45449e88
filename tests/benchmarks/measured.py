"""What benchmarks of real runs share: commands, rounds of a worker, pairs and their ratio."""

from __future__ import annotations

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from app.cases.case import Case
from app.cases.round import MEASURED, RECORD, Limits, MeasureJob, RoundResult
from app.cases.scenario import Scenario, WaitPolicy
from app.stats.quantiles import rank_interval
from exporters.codec import from_json, to_json
from exporters.messages import ExportReply, ExportRequest
from exporters.types import ExportedModel
from runtimes.options import OptionValue, Settings
from runtimes.registry import parse_spec
from tests.checkout import ROOT

PAIRS = int(os.environ.get("GRAPHLAP_PAIRS", "0"))
"""How many pairs the user wants, 0 for each benchmark's own number."""
BATCH_1 = {"batch": 1}
LIMITS = Limits(min_s=1.0, max_s=2.0, min_samples=300, warmup_min_s=0.2, warmup_max_s=1.0)


Measured = TypeVar("Measured")


def interleaved(pairs: int, *sides: Callable[[], Measured]) -> tuple[list[Measured], ...]:
    """What each side gave in each pair; which side goes first moves on from pair to pair."""
    durations: tuple[list[Measured], ...] = tuple([] for _ in sides)
    for pair in range(pairs):
        for place in range(len(sides)):
            index = (pair + place) % len(sides)
            durations[index].append(sides[index]())
    return durations


def ratio_text(numerator: Sequence[float], denominator: Sequence[float]) -> str:
    """The median of the pairs' ratios, its exact 95 % interval, and the extreme pairs."""
    ratios = np.sort(np.divide(numerator, denominator))
    ranks = rank_interval(len(ratios), 0.5)
    bounds = [f"{ratios[rank - 1]:.3f}" for rank in ranks or ()]
    interval = " to ".join(bounds) or "too few pairs"
    middle = statistics.median(ratios.tolist())
    return f"x{middle:.3f} ({interval}; pairs {ratios[0]:.3f} to {ratios[-1]:.3f})"


def spread_text(values: Sequence[float], digits: int = 2, unit: str = " s") -> str:
    """The median and the extremes."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f}{unit} ({low:.{digits}f} to {high:.{digits}f})"


def program(root: Path = ROOT) -> dict[str, str]:
    """The environment in which a child finds this checkout, or another."""
    return {**os.environ, "PYTHONPATH": str(root)}


def installed(compiled: Path) -> dict[str, str]:
    """The environment of an installed program: its modules are compiled once, by the first child,
    and kept in this folder, also where a checkout keeps none (PYTHONDONTWRITEBYTECODE)."""
    environment = {name: x for name, x in program().items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "PYTHONPYCACHEPREFIX": str(compiled)}


def graphlap(
    *words: object, cwd: Path = ROOT, root: Path = ROOT, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """The command with these words, of this checkout or another; with what it printed."""
    command = [sys.executable, "-m", "app", *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, env=program(root), capture_output=True, text=True, check=check
    )


def rows_of(run: Path) -> list[dict[str, str]]:
    """The rows of a run, with all columns."""
    with (run / "results.full.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def p50_ratio(row: Mapping[str, str]) -> tuple[float, float, float]:
    """The ratio of a row's p50 to the baseline's, with its interval."""
    ratio, low, high = (float(row[f"baseline_p50_{end}"]) for end in ("ratio", "ci_low", "ci_high"))
    return ratio, low, high


def export(model: str, axes: Mapping[str, int] = BATCH_1) -> ExportedModel:
    """The model from a real export process, with a reference at `axes`."""
    text = json.dumps(to_json(ExportRequest(model, points=(axes,)))) + "\n"
    output = output_of(["-m", "exporters.worker"], text)
    reply = from_json(ExportReply, json.loads(output.splitlines()[-1]))
    if reply.model is None:
        raise RuntimeError(reply.reason)
    return reply.model


def output_of(arguments: Sequence[str], text: str = "") -> str:
    """What Python printed, run with these arguments and this input."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, input=text, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def sample(
    model: ExportedModel,
    runtime: str = "ort-cpu",
    limits: Limits = LIMITS,
    scenario: Scenario | None = None,
    options: Mapping[str, OptionValue] | None = None,
    wait_policy: WaitPolicy = "spin",
) -> tuple[RoundResult, np.ndarray]:
    """One round in a fresh process: its result and its measured `RECORD` records [n];
    RuntimeError where it failed."""
    spec = parse_spec(runtime)
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.bin"
        job = MeasureJob(
            case=Case(
                model.name, runtime, scenario=scenario or Scenario(), wait_policy=wait_policy
            ),
            round=0,
            model=model,
            axes=BATCH_1,
            settings=Settings(device=spec.device, release=spec.release, options=options or {}),
            limits=limits,
            seed=0,
            samples_path=str(samples),
        )
        # Its input stays open: an end of it would mean that nobody waits any more.
        child = subprocess.Popen(
            [sys.executable, "-m", "app.workers.measure"],
            cwd=ROOT,
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
        child.stdin.close()
        result = from_json(RoundResult, {k: v for k, v in events[-1].items() if k != "event"})
        if result.status != "ok":
            raise RuntimeError(f"{result.status}: {result.reason}")
        records = np.fromfile(samples, dtype=RECORD)
    return result, records[records["phase"] == MEASURED]


def p50_us(
    model: ExportedModel,
    runtime: str = "ort-cpu",
    limits: Limits = LIMITS,
    options: Mapping[str, OptionValue] | None = None,
) -> float:
    """The median latency of one round."""
    _, records = sample(model, runtime, limits, options=options)
    return float(np.median(records["finished_ns"] - records["started_ns"])) / 1e3
