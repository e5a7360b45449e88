"""The conditions of one round, as the measuring process finds them: load, clock, cores, memory.

Read from the system's own files, so that this process needs no package for it.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

from app.cases.surroundings import Surroundings, others_ran
from app.workers.placing import place_now
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_SAVING_GOVERNORS = ("powersave", "conservative")
_CLOCKS = Path("/sys/devices/system/cpu/cpufreq")


def describe_round(threads: int) -> Surroundings:
    """What can differ from round to round: load, clock, cores, scheduler, thread settings."""
    return {
        "load_1min": os.getloadavg()[0],
        "cpu_mhz": _clock_mhz(),
        "governor": _read(_GOVERNOR),
        **place_now(),
        "threads": threads,
    }


def round_warnings(environment: Surroundings) -> Iterator[Diagnostic]:
    """Conditions under which the tail should not be trusted."""
    load_1min, cores = environment["load_1min"], os.cpu_count() or 1
    if others_ran(load_1min, cores):
        yield diagnostic("cpu_oversubscribed", load_1min=load_1min, cores=cores)
    governor = environment["governor"]
    if governor in _SAVING_GOVERNORS:
        yield diagnostic("cpu_governor", governor=governor)


def _clock_mhz() -> float | None:
    """The mean clock of all cores now, by cpufreq, else by /proc/cpuinfo; None if neither says."""
    told = [_read(path) for path in _CLOCKS.glob("policy*/scaling_cur_freq")]
    clocks = [int(text) / 1e3 for text in told if text]
    if not clocks:
        lines = (_read(Path("/proc/cpuinfo")) or "").splitlines()
        clocks = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    return statistics.fmean(clocks) if clocks else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
