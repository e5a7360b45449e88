"""Run folders with known contents, one for each thing that a run can be asked for.

Nothing is measured: samples are drawn from a generator whose stream numpy guarantees, the host,
the times and the ids are constants. So what Graphlap shows of a folder depends on its code alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from app.cases.case import Case
from app.cases.jobs import PHASES, ColdStart, Operator, OperatorTimes, Peak, cold_start_subject_of
from app.cases.round import Check
from app.cases.scenario import Scenario
from app.cases.status import Status
from app.cases.telemetry import Interference
from app.columns.rows import Rows
from app.plan.expand import expand
from app.plan.plan import Plan, parse_plan
from app.plan.reference_cases import null_case
from app.plan.settings.sweep import Sweep
from app.plan.studies import adjust_grid, load_study, with_devices
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.manifest import Manifest
from app.run_folder.operators import write_operators
from app.run_folder.table import write_tables
from app.runs.importing.foreign_run import cases_of, read_foreign, write_run
from app.runs.reader import read_run
from tests.app.capabilities.slo_search import searched
from tests.app.capabilities.tuning import tuned_runs
from tests.app.columns.filled import MODEL
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
V80, IA840F = "fpga:v80", "fpga:ia-840f"
ROUNDS, RUNS = 5, 400
QUIET = Interference(
    seconds=1.0,
    steal_share=0.0,
    voluntary_switches=2,
    involuntary_switches=0,
    minor_faults=10,
    major_faults=0,
    interrupts=900,
    cpu_mhz_min=2500.0,
    cpu_mhz_mean=2500.0,
    cpu_mhz_max=2500.0,
    temperature_c=None,
)
DISTURBED = replace(QUIET, steal_share=0.04, involuntary_switches=90, temperature_c=61.0)
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


def plain(path: Path) -> Path:
    """Three models on three runtimes: one runtime leads clearly, two are close, one is noisy."""
    speeds = {
        "dense_128_32": (Speed(1.4), Speed(4.3), Speed(9.3)),
        "conv1d_f32_s1": (Speed(20.0), Speed(20.1), Speed(61.0)),
        "cnn_tiny": (Speed(56.0, 0.1), Speed(41.0, 0.3, 0.03), Speed(120.0, 0.1)),
    }
    cases = [Case(model, runtime, axes={"batch": 1}) for model in speeds for runtime in CPU]

    def fill(folder: RunFolder) -> None:
        for case in cases:
            speed = speeds[case.model][CPU.index(case.runtime)]
            measure(folder, case, speed, interference=DISTURBED if speed.slow else QUIET)

    return make(path, cases, fill)


def failures(path: Path) -> Path:
    """Rows of every kind that has no figure, beside one that has."""
    outcomes: dict[str, tuple[Status, str]] = {
        "crashed.onnx": ("crashed", "signal SIGSEGV in the measuring process: report it"),
        "slow.onnx": ("timeout", "the round took longer than 60 s: give a longer --time-limit"),
        "large.onnx": ("out_of_memory", "12 GiB were asked for: give --memory-limit"),
        "wrong.onnx": ("wrong_output", "y is off by 0.5, 1e-4 is allowed: see --tolerance"),
        "strings.onnx": ("unsupported", "'city' holds string: only numbers can be timed"),
        "odd.onnx": ("compile_failed", "no kernel for Frobnicate: give its library, --custom-ops"),
        "broken.onnx": ("export_failed", "the file ends early: copy it again"),
    }
    good = Case("good.onnx", "ort-cpu")
    absent = [Case(good.model, "tensorrt"), Case("wrong.onnx", "tensorrt")]
    missing = Case("later.onnx", "ort-cpu")
    bad = [Case(model, "ort-cpu") for model in outcomes]

    def fill(folder: RunFolder) -> None:
        measure(folder, good, Speed(100.0), 2)
        for case in bad:
            status, reason = outcomes[case.model]
            record(folder, case, 0, (), status, reason=reason)
        for case in absent:
            reason = "no NVIDIA driver is installed: install one, or leave tensorrt out"
            record(folder, case, 0, (), "unavailable", reason=reason)

    return make(path, [good, *bad, *absent, missing], fill, rounds=2)


def two_runs(path: Path) -> Path:
    """The same cases before and after a new engine, which made one slower and another faster."""
    cases = [Case(model, "ort-cpu") for model in ("mlp", "conv1d_f32_s1", "cnn_tiny")]
    for name, version, factors in (
        ("before", "1.30.0", (1.0, 1.0, 1.0)),
        ("after", "1.31.0", (1.2, 0.8, 1.005)),
    ):
        speeds = [Speed(100.0 * factor, 0.004) for factor in factors]
        host = {**HOST, "packages": {"onnxruntime": version}}

        def fill(
            folder: RunFolder, version: str = version, speeds: Sequence[Speed] = speeds
        ) -> None:
            for case, speed in zip(cases, speeds, strict=True):
                measure(folder, case, speed, 6, runtime_version=version)

        make(path / name, cases, fill, host, rounds=6)
    return path / "after"


def baseline(path: Path) -> Path:
    """Runtimes compared with a baseline of the same run, round by round."""
    speeds = {"ort-cpu": Speed(100.0), "openvino-cpu": Speed(80.0), "torch-cpu": Speed(101.0, 0.05)}
    cases = [Case(model, runtime) for model in ("mlp", "gru_large") for runtime in speeds]

    def fill(folder: RunFolder) -> None:
        for case in cases:
            measure(folder, case, speeds[case.runtime])

    return make(path, cases, fill, baseline="ort-cpu")


def slo(path: Path) -> Path:
    """A search for the highest rate that keeps a target, and one that ends early."""
    with searched.new_search(path, "p99=5ms", (searched.ONE, searched.TWO)) as folder:
        searched.play(folder, searched.Script(), most_rounds=12)
        write_tables(folder, Rows().of(read_run(path)))
    return path


def tune(path: Path) -> Path:
    """A search over options, to its end."""
    with tuned_runs.new_tune(path, "p50") as folder:
        tuned_runs.play(folder)
        write_tables(folder, Rows().of(read_run(path)))
    return path


def check(path: Path) -> Path:
    """Which model compiles on which runtime."""
    cases = [
        Case(model, runtime, suite="" if model.endswith(".onnx") else "layers")
        for model in ("mlp", "gru_large", "own.onnx")
        for runtime in ("ort-cpu", "openvino-cpu", V80, "tensorrt")
    ]

    def fill(folder: RunFolder) -> None:
        for case in cases:
            status: Status = "compiles"
            reason = ""
            if case.runtime == "tensorrt":
                status, reason = "unavailable", "no NVIDIA driver is installed: install one"
            elif case.runtime == V80 and case.model == "own.onnx":
                status, reason = "unsupported", "Resize is not on the card: cut it off"
            elif case.runtime == "openvino-cpu" and case.model == "gru_large":
                status, reason = "partial", "Loop runs on the host"
            check_fields = {"check_level": "built"} if status in ("compiles", "partial") else {}
            phases = {"compile": 12.5} if check_fields else {}
            record(folder, case, 0, (), status, reason=reason, facts=check_fields, phases_ms=phases)

    return make(path, cases, fill, rounds=1, check=True)


def history(path: Path) -> Path:
    """Fourteen nights; from the ninth on one case is slower, and the engine is newer."""
    cases = (Case("mlp", "ort-cpu"), Case("gru_large", "ort-cpu"))
    for night in range(14):
        late = night >= 8
        host = {**HOST, "packages": {"onnxruntime": "1.31.0" if late else "1.30.0"}}
        first_manifest = replace(
            manifest(f"night-{night}", cases, 3),
            environment=host,
            created_at_utc=f"2026-03-{night + 1:02}T02:00:00.000+00:00",
            run_id=f"{night:012x}",
        )
        night_factor = 1.0 + 0.003 * np.random.RandomState(night).standard_normal()
        with RunFolder.create(path / f"night-{night}", first_manifest) as folder:
            folder.begin(host)
            for case, level in zip(cases, (110.0 if late else 100.0, 200.0), strict=True):
                for number in range(3):
                    runs = latencies_us(
                        case, 10 * night + number, Speed(level * night_factor, 0.001), 200
                    )
                    record(folder, case, number, runs)
            write_tables(folder, Rows().of(read_run(folder.path)))
    return path / "night-13"


def extras(path: Path) -> Path:
    """What is asked for beside the rows: cold starts, no-op twins, operators and an open loop."""
    plain_case, other = (Case("mlp", runtime) for runtime in CPU[:2])
    arriving = replace(plain_case, scenario=Scenario.parse("poisson:2000/s"))
    cases = (plain_case, other)
    twins = tuple(map(null_case, cases))
    peak = Peak(68.5e9, 37.2e9, 1572864, "numpy by hand")
    operators = (
        Operator(
            *("fused_1", "FusedGemm", 40.0, "k", ("gemm", "relu"), 131_000, 529_000, 10.0),
            in_use_bytes=612_000,
            peak_bytes=700_000,
            arena_bytes=1_048_576,
            pool_run_us=36.0,
            pool_wait_us=3.5,
        ),
        Operator("reorder", "Reorder", 5.0, "k"),
    )

    def fill(folder: RunFolder) -> None:
        for place, case in enumerate(cases):
            measure(folder, case, Speed(60.0 + 20 * place))
            measure(folder, null_case(case), Speed(6.0))
            for process in range(20):
                times = dict.fromkeys(PHASES, 10.0 * (place + 1) + process % 7)
                folder.record(ColdStart(cold_start_subject_of(case).case_id, process, times))
            operator_times = OperatorTimes(
                case.case_id, "wall", 100, operators, run_us=75.0, peak=peak
            )
            folder.record(write_operators(folder, operator_times))
        measure(folder, arriving, Speed(60.0))

    all_cases = [*cases, arriving, *twins]
    return make(path, all_cases, fill, null=True, cold_start=20, profile_ops=True)


CARD_MODELS = {"lstm_large": (8.8, 17.1), "cnn_small": (2.6, 3.6), "lstm_tiny": (2.7, 2.0)}


def card(path: Path) -> Path:
    """Simulated cards beside processors, of models with figures that the vendor published."""
    cases = [
        Case(model, runtime, suite="vollo")
        for model in CARD_MODELS
        for runtime in ("ort-cpu", "openvino-cpu", V80, IA840F)
    ]

    def fill(folder: RunFolder) -> None:
        for case in cases:
            v80, ia840f = CARD_MODELS[case.model]
            speeds = {
                "ort-cpu": Speed(20 * v80),
                "openvino-cpu": Speed(23 * v80),
                V80: Speed(v80),
                IA840F: Speed(ia840f),
            }
            measure(folder, case, speeds[case.runtime], 3)

    return make(path, cases, fill, rounds=3)


def study(path: Path) -> Path:
    """A founding document repeated: a part of its cases measured, one with a reason."""
    data = load_study("neurio").model_dump(exclude_unset=True)
    grids = [adjust_grid(grid, {"runtimes": ["ort-cpu"]}) for grid in data["sweeps"]]
    data["sweeps"] = [part for grid in grids for part in with_devices(grid)]
    plan = parse_plan({**data, "rounds": 1, "null": False}, "neurio")
    cases = expand(plan)
    first_manifest = replace(manifest("neurio", cases, 1), plan=plan.model_dump(mode="json"))
    with RunFolder.create(path, first_manifest) as folder:
        folder.begin(HOST)
        for place, case in enumerate(cases):
            if place % 9 == 8:
                record(folder, case, 0, (), "run_failed", reason="the engine said no")
            elif place % 2 == 0:
                record(folder, case, 0, [10.0 + place] * RUNS)
        write_tables(folder, Rows().of(read_run(path)))
    return path


def imported(path: Path) -> Path:
    """Results of other programs."""
    files = Path(__file__).parents[1] / "app" / "runs" / "importing" / "files"
    names = ("benchmark_report.json", "polygraphy.json", "pyperf.json")
    run = write_run(path, cases_of([("", read_foreign(files / name)) for name in names]))
    return run.path


def large(path: Path) -> Path:
    """Eighty cases, as many as the starter suite has: 20 models on 3 runtimes and a card."""
    models = [f"net_{number:02}" for number in range(20)]
    cases = [Case(model, runtime) for model in models for runtime in (*CPU, V80)]

    def fill(folder: RunFolder) -> None:
        for place, case in enumerate(cases):
            model, runtime = divmod(place, 4)
            base = 2.0 * 1.5**model
            factors = ((1.0, 1.2, 3.0, 0.2), (1.3, 1.0, 2.0, 0.2), (1.0, 1.01, 2.0, 0.2))
            noise = 0.02 if model % 3 else 0.2
            slow = 0.03 if place % 5 == 0 else 0.0
            measure(folder, case, Speed(base * factors[model % 3][runtime], noise, slow), 3)

    return make(path, cases, fill, rounds=3)


RUNS_BY_NAME: Mapping[str, Callable[[Path], Path]] = {
    "plain": plain,
    "failures": failures,
    "compared": two_runs,
    "baseline": baseline,
    "slo": slo,
    "tune": tune,
    "check": check,
    "history": history,
    "extras": extras,
    "card": card,
    "study": study,
    "imported": imported,
    "large": large,
}
"""Each makes its run below a folder and gives the run's own."""
