"""Run folders whose rounds are written, not measured: of one, six and forty series, for each view.

They are there to be looked at, and for nothing that a page shows: latencies are drawn from a seed.
Graphs are real, taken from one short run of the scripted runtime, so that a model, its operators
and a card's schedule can be seen too.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from app.analysis.columns.rows import Rows
from app.capabilities.tuning.present import files_of
from app.cases.case import Case
from app.cases.jobs import AccuracyResult, Operator, OperatorTimes, subject_of
from app.cases.round import MEASURED, OpenLoop, RoundResult
from app.cases.scenario import Scenario
from app.cases.status import Status
from app.run_folder.folder import RESULTS, RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.live_status import Live, LiveFile
from app.run_folder.operators import write_operators
from app.run_folder.table import write_tables
from app.runs.reader import read_run
from exporters.diagnostics import diagnostic
from exporters.types import ExportedModel
from tests.app.capabilities.tuning.tuned_runs import found_in, new_tune, play
from tests.app.gui.synthetic import latencies_ns, records, served
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of
from tests.app.runs.history.pasts import night_at
from tests.checkout import ROOT

MODELS = ("mlp", "cnn_tiny", "lstm_tiny", "cnn_small")
RUNTIMES = ("ort-cpu", "openvino-cpu", "fpga:v80")
RUNS = 3_000
"""Timed runs of a round: a p99 with its interval, a p99.9 without."""
_NIGHTS = 14
"""Runs beside each other, of which the last five are slower: enough for a change to be told."""
_ENDS: tuple[Status, ...] = (
    "compiles", "compiles", "partial", "unsupported", "compile_failed", "compiles", "unavailable",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A run folder and the views that it is there for; none: every view."""

    folder: Path
    views: tuple[str, ...] = ()
    beside: Path | None = None


def make_all(folder: Path) -> list[Made]:
    """Those of each number of series, made where they are not there yet."""
    graphs = _graphs(folder / "graphs")
    runs = []
    for name, cases in _MEASURED_SERIES.items():
        measure = partial(_make_measured, cases=cases, graphs=graphs)
        first = _once(folder / name, measure)
        again = _once(folder / f"{name}-again", partial(measure, seed=7))
        runs.append(Made(first, beside=again))
    for name, count in (("one", 1), ("six", 6), ("forty", 40)):
        makers: dict[str, Callable[[Path], None]] = {
            "trends": partial(_make_loaded, series=count),
            "accuracy": partial(_accurate, points=count, graphs=graphs),
            "largest_batch": partial(_largest, rows_shown=count),
            "checks": partial(_make_checked, cells=count),
        }
        for view, make in makers.items():
            runs.append(Made(_once(folder / f"{view}-{name}", make), (view,)))
    runs.append(Made(_once(folder / "ladder", _make_searched), ("tune",)))
    nights = folder / "nights"
    if not nights.is_dir():
        for number in range(_NIGHTS):
            night_at(nights / f"night-{number}", number, 1.0 if number < _NIGHTS - 5 else 1.12)
    runs.append(Made(nights / f"night-{_NIGHTS - 1}", ("history",)))
    return runs


def _once(path: Path, make: Callable[[Path], None]) -> Path:
    if not (path / RESULTS).is_file():
        make(path)
    return path


def _cases(
    models: Iterable[str], runtimes: Iterable[str], batches: Iterable[int], threads: Iterable[int]
) -> tuple[Case, ...]:
    return tuple(
        Case(model, runtime, axes={"batch": batch}, threads=count)
        for model, runtime, batch, count in product(models, runtimes, batches, threads)
    )


_MEASURED_SERIES = {
    "one": _cases(("cnn_tiny",), ("ort-cpu",), (1,), (1,)),
    "six": _cases(("cnn_tiny", "lstm_tiny"), RUNTIMES, (1,), (1,)),
    "forty": _cases(("cnn_tiny", "mlp"), ("ort-cpu", "openvino-cpu"), (1, 2, 4, 8, 16), (1, 2)),
}


def _graphs(path: Path) -> dict[str, ExportedModel]:
    """The catalogue's models as files, from a short run."""
    if not (path / RESULTS).is_file():
        flags = ["--models", ",".join(MODELS), "--runtimes", "fake", "--rounds", "1"]
        flags += ["--preset", "glance", "--out", str(path)]
        subprocess.run([sys.executable, "-m", "app", "--headless", *flags], cwd=ROOT, check=True)
    return {model: export for (model, _), export in read_run(path).models.items()}


def _write_run(
    path: Path, cases: Sequence[Case], rounds: int, fill: Callable[[RunFolder], None]
) -> None:
    with RunFolder.create(path, manifest_of(cases, rounds)) as folder:
        folder.begin({**ENVIRONMENT, "cpu": "a processor"})
        fill(folder)
        write_tables(folder, Rows().of(read_run(path)))
        total = rounds * len(cases)
        ended = Live("finished", 0, len(cases), 0, total, total, exit_code=0)
        LiveFile(folder).write(ended, always=True)


def _round(folder: RunFolder, case: Case, number: int, rows: np.ndarray, **facts: object) -> None:
    name = f"{case.case_id}.{number}.bin"
    (folder.samples / name).write_bytes(rows.tobytes())
    count = int((rows["phase"] == MEASURED).sum())
    result = RoundResult(
        case.case_id, number, "ok", samples=name, iterations=count, precision="fp32"
    )
    seconds = float(rows["finished_ns"][-1] - rows["started_ns"][0]) / 1e9
    folder.record(replace(result, duration_s=seconds, **facts))  # type: ignore[arg-type]


def _median_us(case: Case, place: int) -> float:
    batch = case.axes.get("batch", 1)
    return (18.0 + 7.0 * (place % 11)) * batch**0.8 / (1.0 + 0.5 * (case.threads > 1))


def _make_measured(
    path: Path, cases: Sequence[Case], graphs: dict[str, ExportedModel], seed: int = 1
) -> None:
    """Three rounds of each; a simulated one has no spread, and each fifth a warning."""

    def fill(folder: RunFolder) -> None:
        for model in dict.fromkeys(case.model for case in cases):
            folder.record(ModelExported(model, "fp32", graphs[model]))
        for place, case in enumerate(cases):
            simulated = case.runtime.startswith("fpga")
            for number in range(3):
                level = _median_us(case, place) * (1.0 + 0.004 * number + 0.01 * (seed - 1) / 7)
                drawn = latencies_ns(level, RUNS + 200, 100 * seed + 10 * place + number)
                if simulated:
                    drawn[:] = round(2.4e3 + 90.0 * place)
                facts: dict[str, object] = {"clock": "simulated"} if simulated else {}
                facts |= {"warmup_iterations": 200, "device_name": case.runtime}
                if place % 5 == 1:
                    busy = diagnostic("cpu_oversubscribed", load_1min=4.2, cores=2)
                    facts["warnings"] = (busy,)
                _round(folder, case, number, records(drawn, warmup=200), **facts)
            folder.record(write_operators(folder, _operators(case, graphs[case.model])))

    _write_run(path, cases, 3, fill)


def _operators(case: Case, model: ExportedModel) -> OperatorTimes:
    """A time for each node of the graph."""
    import onnx

    nodes = onnx.load(model.path, load_external_data=False).graph.node
    ops = tuple(
        Operator(node.name or f"node_{k}", node.op_type, 0.4 + 3.0 / (1 + k), node.op_type)
        for k, node in enumerate(nodes)
    )
    return OperatorTimes(case.case_id, runs=100, ops=ops)


def _make_loaded(path: Path, series: int) -> None:
    """So many lines of five rates each, of which the last is more than can be served."""
    shares = (0.1, 0.3, 0.6, 0.85, 1.1)
    settings = [*product((1, 2, 4, 8), (*MODELS, "net"), RUNTIMES[:2])][:series]
    lines = [
        (Case(model, runtime, threads=threads), 20.0 + 9.0 * (place % 7))
        for place, (threads, model, runtime) in enumerate(settings)
    ]
    cases = [
        (replace(case, scenario=Scenario.parse(f"poisson:{share * 1e6 / us:.0f}/s")), us, share)
        for case, us in lines
        for share in shares
    ]

    def fill(folder: RunFolder) -> None:
        for place, (case, us, share) in enumerate(cases):
            rng = np.random.default_rng(place)
            due = np.cumsum(rng.exponential(us * 1e3 / share, 1_000)).astype(np.int64)
            rows = served(latencies_ns(us, len(due), place), due)
            seconds = float(rows["finished_ns"][-1]) / 1e9
            told = OpenLoop("a" * 64, due=len(due), left=0, seconds=seconds, utilisation=share)
            _round(folder, case, 0, rows, open_loop=told)

    _write_run(path, [case for case, _, _ in cases], 1, fill)


def _accurate(path: Path, points: int, graphs: dict[str, ExportedModel]) -> None:
    """So many models with an accuracy each, in families of five."""
    cases = [Case(f"net{k}", "ort-cpu", axes={"batch": 64}) for k in range(points)]

    def fill(folder: RunFolder) -> None:
        for place, case in enumerate(cases):
            model = replace(graphs["mlp"], name=case.model, family=f"family {place // 5}")
            folder.record(ModelExported(case.model, "fp32", model))
            level = 90.0 * (1.0 + place % 9)
            _round(folder, case, 0, records(latencies_ns(level, 600, place)))
            subject = subject_of(case, model).case_id
            top1 = 0.55 + 0.4 * (place % 13) / 13
            folder.record(AccuracyResult(subject, "digits", top1, 360, 64))

    _write_run(path, cases, 1, fill)


def _largest(path: Path, rows_shown: int) -> None:
    """Batches that double until one fails, of so many models."""
    pairs = [(f"net{k // 2}", RUNTIMES[k % 2]) for k in range(rows_shown)]
    cases = [
        Case(model, runtime, axes={"batch": 2**power})
        for place, (model, runtime) in enumerate(pairs)
        for power in range(3 + place % 6)
    ]

    def fill(folder: RunFolder) -> None:
        last = {(case.model, case.runtime): case for case in cases}
        for place, case in enumerate(cases):
            if last[case.model, case.runtime] is case:
                reason = "a buffer of 512 MiB: there is no room"
                folder.record(RoundResult(case.case_id, 0, "out_of_memory", reason))
            else:
                level = 30.0 * case.axes["batch"]
                _round(folder, case, 0, records(latencies_ns(level, 400, place)))

    _write_run(path, cases, 1, fill)


def _make_checked(path: Path, cells: int) -> None:
    """So many models and runtimes that were compiled, in part or not at all."""
    runtimes = ("ort-cpu", "openvino-cpu", "fpga:v80", "tensorrt-rtx:sm89", "torch-cpu")
    cases = [Case(f"net{k // 5}" if cells > 1 else "net", runtimes[k % 5]) for k in range(cells)]

    def fill(folder: RunFolder) -> None:
        for place, case in enumerate(cases):
            status = _ENDS[place % len(_ENDS)]
            reason = "" if status == "compiles" else "node 'a' of the graph was not taken"
            facts = {"check_level": "built" if place % 3 else "opened"}
            folder.record(RoundResult(case.case_id, 0, status, reason, facts=facts))

    _write_run(path, cases, 1, fill)


def _make_searched(path: Path) -> None:
    """A search over options, to its end."""
    with new_tune(path, "p50") as folder:
        play(folder)
        run = read_run(path)
        for name, data in files_of(run, found_in(folder)):
            folder.write(name, data)
        write_tables(folder, (Rows().of(run)))
