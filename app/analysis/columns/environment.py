"""Columns of a case's environment: placement, engine, GPU, clock, pauses, interference.

A figure of interference that no timed round could read is left empty.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from app.analysis.columns.family import (
    CaseData,
    Count,
    Family,
    Flag,
    Number,
    OfSamples,
    SampledCase,
    Text,
)
from app.analysis.columns.rounds import join_values, maximum, minimum
from app.cases.case import Case
from app.cases.column import Row, Value
from app.cases.round import RoundResult
from app.cases.telemetry import STEADY_CLOCK, Interference
from app.cases.turns import PLACES
from app.machine.installed_runtimes import runtime
from app.machine.placement import as_list
from app.run_folder.run import Run
from app.stats.patterns import CAUSES, UNSEEN, outlier_causes
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import ExportedModel, axes_key
from runtimes import registry
from runtimes.execution import Clock, Samples
from runtimes.registry import environment_of, parse_spec


class Placement(Family, heading="Placement"):
    """Of the rounds that were timed on this machine; what differed between them is told by each."""

    cores = Text()
    """The cores that the measuring process could run on."""
    numa_node = Text("NUMA node")
    """The nodes of memory that these cores belong to."""
    memory_locked = Flag()
    """Whether it was locked into memory while it was timed."""
    huge_page_fraction = Number("Huge pages")
    """The fraction of its own memory that was in huge pages as it began to be timed, in the mean of
    its rounds: a fork of a template has less."""
    memory_places = Number("Memory places")
    """In how many places of the machine's memory its own was while it was timed, in the mean of its
    rounds: which pages share a place in the caches of a core is chance."""
    scheduler = Text()
    """How it was scheduled: other, or fifo with its priority."""
    attempts = Count()
    """How often the case was begun: more than once if a host was lost."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        environments = [result.environment for result in data.rounds if result.samples]
        lock_states = [environment.get("memory_locked") for environment in environments]
        fractions = [f for e in environments if (f := e.get("huge_page_fraction")) is not None]
        places = [float(r.facts[PLACES]) for r in data.rounds if PLACES in r.facts]
        return {
            "cores": join_values(as_list(e.get("affinity", ())) for e in environments),
            "numa_node": join_values(as_list(e.get("numa_nodes", ())) for e in environments),
            "memory_locked": None if not lock_states or None in lock_states else all(lock_states),
            "huge_page_fraction": statistics.fmean(fractions) if fractions else None,
            "memory_places": statistics.fmean(places) if places else None,
            "attempts": max((r.attempt for r in data.rounds if r.samples), default=None),
            "scheduler": join_values(str(e.get("scheduler") or "") for e in environments),
        }


class Engine(Family, heading="Engine"):
    """What differed between rounds, as after an installation before `--resume`, is told by each."""

    environment = Text(group="identity")
    """The environment that the case names, an interpreter with its packages; empty for ours."""
    engine_distribution = Text("Engine package")
    """The installed package that the engine is of, such as onnxruntime or onnxruntime-gpu."""
    engine_path = Text()
    """The file that the measuring process loaded as the engine; empty for one that is ours."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        return {
            "environment": environment_of(data.case.runtime) or None,
            "engine_distribution": join_values(r.engine_distribution for r in data.rounds),
            "engine_path": join_values(result.engine_path for result in data.rounds),
        }


def engine_warnings(rounds: Sequence[RoundResult]) -> list[Diagnostic]:
    """Rounds of several releases of the engine."""
    releases = dict.fromkeys(result.runtime_version for result in rounds if result.samples)
    if len(releases) < 2:
        return []
    return [diagnostic("engine_changed", releases=tuple(releases))]


class GpuSettings(Family, heading="GPU settings"):
    """How each was set as its round began; what differed between them is told by each."""

    gpu_uuid = Text("GPU")
    """The GPU's own identifier, whatever number it goes by."""
    gpu_driver = Text("GPU driver")
    """The release of the driver."""
    gpu_link = Text("GPU link")
    """How the GPU was connected as a round began."""
    gpu_power_limit_w = Number("Power limit")
    """What the GPU was kept to."""
    gpu_persistence = Flag("Persistence")
    """Whether the driver stays loaded when the GPU is not in use."""
    gpu_ecc = Flag("ECC")
    """Whether errors of its memory were corrected."""
    gpu_mig = Flag("MIG")
    """Whether the GPU was divided into parts."""
    gpu_mig_profile = Text("MIG profile")
    """The part of a divided GPU, such as `3g.40gb`."""
    gpu_clock_limit_mhz = Number("GPU clock limit")
    """The highest clock it has."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        states = [
            state
            for result in data.rounds
            if "gpu" in result.environment
            for state in (result.environment["gpu"], *result.environment.get("other_gpus", ()))
        ]
        if not states:
            return {}
        return {
            "gpu_uuid": join_values(state.uuid for state in states),
            "gpu_driver": join_values(state.driver for state in states),
            "gpu_link": join_values(state.link for state in states),
            "gpu_power_limit_w": minimum(state.power_limit_w for state in states),
            "gpu_clock_limit_mhz": minimum(state.clock_limit_mhz for state in states),
            "gpu_persistence": _all_true(state.persistence for state in states),
            "gpu_ecc": _all_true(state.ecc for state in states),
            "gpu_mig": _all_true(state.mig for state in states),
            "gpu_mig_profile": join_values(state.mig_profile for state in states),
        }


def gpu_warnings(case: Case, row: Row) -> Iterator[Diagnostic]:
    """What moved or shared the GPU while it was timed."""
    low, high = row["gpu_clock_min_mhz"], row["gpu_clock_max_mhz"]
    if isinstance(low, int | float) and isinstance(high, int | float) and high > STEADY_CLOCK * low:
        yield diagnostic("gpu_clock_varied", low_mhz=low, high_mhz=high)
    if row["gpu_clock_min_mhz"] is not None and row["throttle_reasons"] not in (None, "none"):
        yield diagnostic("gpu_throttled", reasons=str(row["throttle_reasons"]))
    process_count = row["gpu_other_processes"]
    if isinstance(process_count, int) and process_count and case.condition.kind != "with":
        yield diagnostic("gpu_shared", processes=process_count)
    if row["gpu_persistence"] is False:
        yield diagnostic("gpu_persistence_off")


def _all_true(values: Iterable[bool | None]) -> Value:
    flags = [value for value in values if value is not None]
    return all(flags) if flags else None


def mean_clock_mhz(run: Run, case: Case) -> float | None:
    """The geometric mean over the case's timed rounds; None where a round does not tell it, or
    where cores do not compute: on a device of its own, or on a simulated clock."""
    name = parse_spec(case.runtime).name
    if name not in registry.names() or runtime(name).accelerator:
        return None
    rounds = [result for result in run.rounds_of(case) if result.iterations]
    counters = [result.interference for result in rounds if result.clock == "wall"]
    usual_mhz = [item.usual_mhz or 0.0 for item in counters if item is not None]
    clocks_mhz = [clock for clock in usual_mhz if clock > 0.0]
    if not clocks_mhz or len(clocks_mhz) < len(rounds):
        return None
    return statistics.geometric_mean(clocks_mhz)


GAP_SHARE_OFF, GAP_OFF_US = 0.1, 1.0
"""A pause that is off by more than both at its median is not the one that was asked for."""


class Pauses(Family, heading="Pauses"):
    achieved_gap_p50_us = Number(group="latency")
    """The median of the pauses between two runs."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        """From a run's end to the next one's start: a run is due `gap_us` after the last one of its
        lane has ended, so a pause is as much longer as it began late."""
        scenario, summary = data.case.scenario, data.summary
        late_us = summary.start_lateness_p50_us if summary else None
        if scenario.kind != "paced" or late_us is None:
            return {}
        return {"achieved_gap_p50_us": scenario.gap_us + late_us}


def gap_warnings(case: Case, row: Row) -> list[Diagnostic]:
    """Whether the median of the pauses is longer than was asked for."""
    requested_us, actual_us = case.scenario.gap_us, row["achieved_gap_p50_us"]
    if row["clock"] == "simulated" or not isinstance(actual_us, float):
        return []
    if actual_us - requested_us <= max(GAP_OFF_US, GAP_SHARE_OFF * requested_us):
        return []
    policy = case.wait_policy
    return [
        diagnostic(
            "pause_not_met", actual_us=actual_us, requested_us=requested_us, wait_policy=policy
        )
    ]


class Inputs(Family, heading="Inputs"):
    input_sets = Text()
    """How many sets of inputs the runs use in turn; one set stays in the caches."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        if data.summary is None:
            return {}
        model = data.run.model_of(data.case)
        return {"input_sets": inputs_fed(data.case, model, data.rounds[-1].clock)}


def inputs_fed(case: Case, model: ExportedModel | None, clock: Clock) -> str | None:
    """Whether every run found the inputs of the last one, likely in a cache; None on a card."""
    if model is None or clock == "simulated":
        return None
    if case.condition.points:
        return "one set for each shape"
    sets = input_sets(case, model)
    return f"{sets} sets in turn" if sets > 1 else "one set, cache-hot"


def input_sets(case: Case, model: ExportedModel | None) -> int:
    """How many are fed in turn, one to each run."""
    if model is None or not model.rotation:
        return 1
    return 1 + len(model.rotation.get(axes_key(model.at(case.axes).axes), ()))


SAID_SHARE = 0.001
"""Where a cause had a hand in more of the runs it reaches a p99.9, and is warned of."""
STEAL_SHARE = 0.01
SWITCHES_PER_S = 10.0
"""An idle machine takes a core from its one busy thread a few times a second."""
_CODES = {
    "steal": "outliers_from_steal",
    "switch": "outliers_from_context_switches",
    "page fault": "outliers_from_page_faults",
    "interrupts": "outliers_from_interrupts",
    "shared core": "outliers_from_shared_core",
    "clock": "outliers_from_low_clock",
}


def outlier_counts(
    rounds: Sequence[RoundResult], samples: Sequence[Samples]
) -> Counter[str] | None:
    """How many outliers of all rounds have which cause; None where none was looked for."""
    cause_counts = [
        outlier_causes(round_samples, result.interference.disturbances)
        for result, round_samples in zip(rounds, samples, strict=True)
        if result.interference is not None
    ]
    return sum(cause_counts, Counter[str]()) if cause_counts else None


class Interfering(OfSamples, heading="Interference"):
    """Rates over the rounds together, the extremes of clock and temperature."""

    load_1min = Number("Load")
    """The highest load of the last minute when a round began."""
    steal_fraction = Number("Steal")
    """The fraction of the usable cores' time that a hypervisor took."""
    involuntary_switches_per_s = Number("Switches/s")
    """How often a second the measuring process lost a core to another thread."""
    page_faults_per_s = Number("Faults/s")
    """Its page faults, minor and major."""
    interrupts_per_s = Number("Interrupts/s")
    """Interrupts of the whole machine."""
    cpu_clock_min_mhz = Number("CPU clock from")
    """The lowest clock of the measuring core, measured as blocks of runs begin: a round had less
    for 5 % of its time at most."""
    cpu_clock_max_mhz = Number("CPU clock to")
    """The highest clock, likewise."""
    cpu_temperature_c = Number("CPU temperature")
    """The highest temperature of the processor."""
    outlier_causes = Text()
    """System events that coincide with outliers, with counts; unseen: none was recorded."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        interferences = [r.interference for r in sampled.rounds if r.interference is not None]
        values: Row = {"load_1min": maximum(r.environment.get("load_1min") for r in sampled.rounds)}
        if not interferences:
            return values
        return values | {
            "steal_fraction": _steal_share(interferences),
            "involuntary_switches_per_s": _rate((i.involuntary_switches, i) for i in interferences),
            "page_faults_per_s": _rate((_faults(i), i) for i in interferences),
            "interrupts_per_s": _rate((i.interrupts, i) for i in interferences),
            "cpu_clock_min_mhz": minimum(_clock_mhz(i, 0.05) for i in interferences),
            "cpu_clock_max_mhz": maximum(_clock_mhz(i, 0.95) for i in interferences),
            "cpu_temperature_c": maximum(i.temperature_c for i in interferences),
            "outlier_causes": _cause_text(sampled.causes) if sampled.causes else None,
        }


def _clock_mhz(interference: Interference, share: float) -> float | None:
    """What the clock of a round's blocks was below for so much of its time."""
    clocks_mhz = interference.cpu_mhz
    return float(np.quantile(clocks_mhz, share)) if clocks_mhz else None


MOST_FAULTS_PER_S = 10_000.0
"""One takes up to two microseconds on a virtual machine, so that these are a hundredth or two of
the time."""


def fault_warnings(row: Row) -> Iterator[Diagnostic]:
    """Whether the runs take memory from the system over and over."""
    faults_per_s = row["page_faults_per_s"]
    if isinstance(faults_per_s, float) and faults_per_s > MOST_FAULTS_PER_S:
        yield diagnostic("page_faults", faults=round(faults_per_s))


def is_contended(rounds: Sequence[RoundResult]) -> bool:
    """Whether other work took the core, over all rounds together; False where nobody looked."""
    interferences = [result.interference for result in rounds if result.interference is not None]
    switches = _rate((i.involuntary_switches, i) for i in interferences) or 0.0
    return (_steal_share(interferences) or 0.0) >= STEAL_SHARE or switches >= SWITCHES_PER_S


def outlier_warnings(counts: Counter[str] | None, iterations: int) -> list[Diagnostic]:
    """The cause that most of the outliers have, if they are not very few."""
    cause_counts = [] if counts is None else [(counts[cause], cause) for cause in CAUSES]
    count, cause = max(cause_counts, default=(0, ""), key=lambda pair: pair[0])
    if counts is None or count <= SAID_SHARE * iterations:
        return []
    return [diagnostic(_CODES[cause], outliers=count, all=counts.total())]


def _cause_text(counts: Counter[str]) -> str:
    """`switch 12, steal 3, unseen 25`."""
    causes = sorted((*CAUSES, UNSEEN), key=lambda cause: (cause == UNSEEN, -counts[cause]))
    return ", ".join(f"{cause} {counts[cause]}" for cause in causes if counts[cause])


def _steal_share(interferences: Sequence[Interference]) -> float | None:
    samples = [i for i in interferences if i.steal_share is not None]
    stolen_s = sum((i.steal_share or 0.0) * i.seconds for i in samples)
    return stolen_s / sum(i.seconds for i in samples) if samples else None


def _faults(interference: Interference) -> int | None:
    if interference.minor_faults is None or interference.major_faults is None:
        return None
    return interference.minor_faults + interference.major_faults


def _rate(pairs: Iterable[tuple[int | None, Interference]]) -> float | None:
    """Of those that were counted, in a second."""
    counts = [(count, interference.seconds) for count, interference in pairs if count is not None]
    return sum(count for count, _ in counts) / sum(s for _, s in counts) if counts else None
