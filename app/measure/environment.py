"""What the machine is and how busy: recorded once in the manifest, in brief with each round.

Nothing here imports an engine; versions come from the installed packages' metadata.
"""

from __future__ import annotations

import os
import platform
import resource
import socket
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

_PACKAGES = (
    "graphlap",
    "numpy",
    "onnx",
    "onnxruntime-gpu",
    "onnxruntime",
    "onnxscript",
    "openvino",
    "tensorrt",
    "torch",
)
_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq")


def describe_host() -> dict[str, Any]:
    """CPU, cores, memory, governor, operating system and versions, as JSON values."""
    return {
        "host": socket.gethostname(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "cpu": _cpu_name(),
        "cores_logical": psutil.cpu_count(),
        "cores_physical": psutil.cpu_count(logical=False),
        "cores_usable": len(usable_cores()),
        "memory_bytes": psutil.virtual_memory().total,
        "governor": _read(_CPUFREQ / "scaling_governor"),
        "turbo_disabled": _read(Path("/sys/devices/system/cpu/intel_pstate/no_turbo")),
        "virtual_machine": "hypervisor" in _cpu_flags(),
        "packages": installed_versions(),
        "load_1min": os.getloadavg()[0],
    }


def describe_round(threads: int) -> dict[str, Any]:
    """What can differ from round to round: load, clock, affinity, thread settings."""
    frequency = psutil.cpu_freq()
    return {
        "load_1min": os.getloadavg()[0],
        "cpu_mhz": frequency.current if frequency else None,
        "governor": _read(_CPUFREQ / "scaling_governor"),
        "affinity": sorted(usable_cores()),
        "threads": threads,
    }


def round_warnings(environment: Mapping[str, Any]) -> list[str]:
    """Sentences about conditions under which the tail should not be trusted."""
    warnings = []
    if environment["load_1min"] > (os.cpu_count() or 1):
        warnings.append(
            "more was running than this machine has cores: stop other work to trust the tail"
        )
    if environment["governor"] in ("powersave", "conservative"):
        warnings.append(
            f"the CPU governor is {environment['governor']}: "
            "set it to performance for steady clocks"
        )
    return warnings


def peak_rss_mb() -> float:
    """The most memory that this process has held, in MiB.

    What `getrusage` tells begins, on Linux, with what the process held that started this
    one, so that a small child of a large parent would look large.
    """
    for line in (_read(Path("/proc/self/status")) or "").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def usable_cores() -> set[int]:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def installed_versions() -> dict[str, str]:
    """Package name -> version, for those installed."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _cpu_name() -> str:
    for line in _cpuinfo():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cpu_flags() -> list[str]:
    for line in _cpuinfo():
        if line.startswith("flags"):
            return line.split()
    return []


def _cpuinfo() -> list[str]:
    return (_read(Path("/proc/cpuinfo")) or "").splitlines()


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
