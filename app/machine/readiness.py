"""Readiness of this machine for measurements: processor load, and settings that move latencies."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from app.machine.system import text_of


@dataclass(frozen=True, slots=True)
class Busy:
    """For some time: cores that computed, the share that a hypervisor took of all cores, and
    processes by name and number with the cores that each kept busy, the busiest first."""

    cores: float
    stolen_share: float
    processes: tuple[tuple[str, int, float], ...]


def look(seconds: float) -> Busy:
    """What others than this process do for so long."""
    processes = [process for process in psutil.process_iter() if process.pid != os.getpid()]
    _cores_of(processes)  # from here on
    start_time, start = time.monotonic(), psutil.cpu_times()
    time.sleep(seconds)
    elapsed_s, end = time.monotonic() - start_time, psutil.cpu_times()
    idle, waiting, stolen = (
        (getattr(end, name, 0.0) - getattr(start, name, 0.0)) / elapsed_s
        for name in ("idle", "iowait", "steal")
    )
    cores = os.cpu_count() or 1
    busy_processes = sorted(_cores_of(processes), key=lambda process: -process[2])
    return Busy(cores - idle - waiting - stolen, stolen / cores, tuple(busy_processes))


def _cores_of(processes: Collection[psutil.Process]) -> list[tuple[str, int, float]]:
    """Name, number, and cores since this was asked before, of those that computed and live."""
    found = []
    for process in processes:
        with suppress(psutil.Error):
            if cores := process.cpu_percent() / 100.0:
                found.append((process.name(), process.pid, cores))
    return found


Verdict = Literal["ok", "warn", "unknown"]

BUSY_CORES = 0.2
"""Others that keep more than so many cores busy are in the way."""
STOLEN_SHARE = 0.005
LEAST_FREE, MOST_SWAPPED = 0.1, 0.05
"""Of all memory: what should be free at least, and lie in swap at most."""
SLOW_WAKING_US, USUAL_SLACK_NS = 50, 50_000
_CPU = "sys/devices/system/cpu"
_PROCESS_LIMIT = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """`what` was looked at, `found` is what is there; a warning has its `remedy`."""

    what: str
    verdict: Verdict
    found: str
    remedy: str = ""


def judge(root: Path, cores: Collection[int], busy: Busy) -> list[Judged]:
    """All that is known to move latencies; `cores` are usable, `busy` is what goes on there."""
    return [
        judge_governor(root),
        judge_boost(root),
        judge_siblings(root, cores),
        judge_virtual(root, busy),
        judge_load(busy),
        judge_memory(root),
        judge_idle_states(root),
        judge_timer_slack(root),
    ]


def judge_governor(root: Path) -> Judged:
    subject = "governor"
    policies = sorted((root / _CPU / "cpufreq").glob("policy*/scaling_governor"))
    governors = sorted({text for text in map(text_of, policies) if text})
    if not governors:
        return Judged(subject, "unknown", "no clock is steered from here")
    if governors == ["performance"]:
        return Judged(subject, "ok", "performance")
    remedy = "sudo cpupower frequency-set -g performance"
    return Judged(subject, "warn", f"{', '.join(governors)}: clocks follow the load", remedy)


def judge_boost(root: Path) -> Judged:
    subject, intel, cpufreq = "boost", _CPU + "/intel_pstate/no_turbo", _CPU + "/cpufreq/boost"
    for file, off in ((intel, "1"), (cpufreq, "0")):
        text = text_of(root / file)
        if text is None:
            continue
        if text == off:
            return Judged(subject, "ok", "off")
        finding = "on: the clock depends on heat and on what the other cores do"
        return Judged(subject, "warn", finding, f"echo {off} | sudo tee /{file}")
    return Judged(subject, "unknown", "not steered from here")


def judge_siblings(root: Path, cores: Collection[int]) -> Judged:
    """Threads of one core share its units: the one slows the other down."""
    subject, topology = "siblings", "topology/thread_siblings_list"
    texts = [text_of(root / _CPU / f"cpu{core}" / topology) for core in sorted(cores)]
    sibling_texts = [text for text in texts if text]
    shared_threads = next((text for text in sibling_texts if not text.isdecimal()), None)
    if not sibling_texts:
        return Judged(subject, "unknown", "the system does not report which threads share a core")
    if shared_threads is None:
        return Judged(subject, "ok", "each usable core has one thread")
    finding = f"threads {shared_threads} are one core: the one slows the other down"
    return Judged(subject, "warn", finding, f"echo off | sudo tee /{_CPU}/smt/control")


def judge_virtual(root: Path, busy: Busy) -> Judged:
    subject, info = "virtual", text_of(root / "proc/cpuinfo")
    if info is None:
        return Judged(subject, "unknown", "this system has no /proc")
    flags = next((line for line in info.splitlines() if line.startswith("flags")), "")
    if "hypervisor" not in flags.split() and text_of(root / "sys/hypervisor/type") is None:
        return Judged(subject, "ok", "a physical machine, as far as it reports")
    took = f"; its hypervisor took {busy.stolen_share:.1%} just now"
    note = took if busy.stolen_share > STOLEN_SHARE else ""
    remedy = "use a real machine to trust the tail, or more rounds"
    return Judged(subject, "warn", f"a virtual machine{note}", remedy)


def judge_load(busy: Busy) -> Judged:
    finding = f"{busy.cores:.1f} cores are busy"
    if busy.cores <= BUSY_CORES:
        return Judged("other load", "ok", finding)
    process_list = ", ".join(
        f"{name} ({pid}) {cores:.0%}" for name, pid, cores in busy.processes[:_PROCESS_LIMIT]
    )
    busy_text = process_list or "no process that is visible from here"
    return Judged(
        "other load", "warn", f"{finding}: {busy_text}", "stop them, or wait for their end"
    )


def judge_memory(root: Path) -> Judged:
    subject, lines = "memory", (text_of(root / "proc/meminfo") or "").splitlines()
    kib = {words[0]: int(words[1]) for words in map(str.split, lines) if len(words) > 1}
    if "MemAvailable:" not in kib:
        return Judged(subject, "unknown", "this system does not report free memory")
    total, free = kib["MemTotal:"], kib["MemAvailable:"]
    swap_kib = kib.get("SwapTotal:", 0) - kib.get("SwapFree:", 0)
    finding = f"{free / 2**20:.1f} of {total / 2**20:.1f} GiB free"
    if swap_kib:
        finding += f", {swap_kib / 2**20:.1f} GiB in swap"
    if free < LEAST_FREE * total:
        return Judged(subject, "warn", finding, "end what holds memory")
    if swap_kib > MOST_SWAPPED * total:
        return Judged(subject, "warn", finding, "sudo swapoff -a, or end what holds memory")
    return Judged(subject, "ok", finding)


def judge_idle_states(root: Path) -> Judged:
    """A core that rested wakes late: paced runs see it, a closed loop does not."""
    subject, slowest_us, name = "idle states", -1, ""
    for state in sorted((root / _CPU / "cpu0/cpuidle").glob("state*")):
        latency = text_of(state / "latency") or ""
        if text_of(state / "disable") == "0" and latency.isdecimal() and int(latency) > slowest_us:
            slowest_us, name = int(latency), text_of(state / "name") or state.name
    if slowest_us < 0:
        return Judged(subject, "unknown", "the system does not report idle states")
    finding = f"a core in {name} wakes in {slowest_us} us"
    if slowest_us < SLOW_WAKING_US:
        return Judged(subject, "ok", finding)
    remedy = f"sudo cpupower idle-set -D {SLOW_WAKING_US}, or pace with --idle-policy spin"
    return Judged(subject, "warn", finding, remedy)


def judge_timer_slack(root: Path) -> Judged:
    subject, text = "timer slack", text_of(root / "proc/self/timerslack_ns")
    if text is None or not text.isdecimal():
        return Judged(subject, "unknown", "the system does not report the timer slack")
    finding = f"a sleeper is woken up to {int(text) / 1e3:g} us late"
    if int(text) <= USUAL_SLACK_NS:
        return Judged(subject, "ok", finding)
    return Judged(subject, "warn", finding, "use --idle-policy spin, or leave power saving")
