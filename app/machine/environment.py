"""What the machine is and how busy, recorded once in the manifest.

Nothing here imports an engine; versions come from the installed packages' metadata.
"""

from __future__ import annotations

import os
import platform
import socket
import subprocess
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from app.machine.placement import usable_cores
from app.machine.system import refuse_without_proc, text_of
from app.machine.telemetry import Nvml, open_nvml
from runtimes import registry
from runtimes.session.precision import cpu_name, cpuinfo_values

_PACKAGES = (
    "graphlap",
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-directml",
    "onnxruntime-migraphx",
    "onnxruntime-qnn",
    "onnxruntime-rocm",
    "onnxruntime-training",
    "onnxscript",
    "openvino",
    "tensorrt",
    "tensorrt-cu12",
    "tensorrt-cu13",
    "tensorrt-rtx-cu12-bindings",
    "tensorrt-rtx-cu13-bindings",
    "torch",
    "triton",
    "nvidia-cublas",
    "nvidia-cublas-cu12",
    "nvidia-cuda-runtime",
    "nvidia-cuda-runtime-cu12",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13",
    "nvidia-ml-py",
)
MACHINE = "machine"
"""The key under which a described host says which machine it is of."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq")


def describe_host() -> dict[str, Any]:
    """CPU, cores, memory, governor, operating system and versions, as JSON values; PlanError on a
    Linux without /proc."""
    refuse_without_proc()
    return {
        "host": socket.gethostname(),
        MACHINE: this_machine(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "cores_logical": psutil.cpu_count(),
        "cores_physical": psutil.cpu_count(logical=False),
        "cores_usable": len(usable_cores()),
        "memory_bytes": psutil.virtual_memory().total,
        "governor": text_of(_CPUFREQ / "scaling_governor"),
        "turbo_disabled": text_of(Path("/sys/devices/system/cpu/intel_pstate/no_turbo")),
        "commit": _commit(),
        "virtual_machine": "hypervisor" in next(cpuinfo_values("flags"), "").split(),
        "packages": installed_versions(),
        "load_1min": os.getloadavg()[0],
        "gpus": _gpus(open_nvml()),
    }


def this_machine() -> str:
    """What everything that shares these cores has in common, containers too: one running kernel."""
    return text_of(_BOOT_ID) or socket.gethostname()


def graphlap_version() -> str:
    """The installed version, or what a checkout that is not installed calls itself."""
    try:
        return metadata.version("graphlap")
    except metadata.PackageNotFoundError:
        return "0+checkout"


def _gpus(nvml: Nvml | None) -> dict[str, Any]:
    """By the number that the driver gives; how one is connected changes with what it does."""
    states = nvml.states() if nvml is not None else ()
    gpu_states = [{**asdict(state), "link": ""} for state in states]
    return {str(number): state for number, state in enumerate(gpu_states)}


def installed_versions() -> dict[str, str]:
    """Package name -> version, for those installed; those that bring runtimes are among them."""
    versions = registry.packages()
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _commit() -> str | None:
    """What is checked out in the current folder; None where that is no git repository."""
    try:
        process = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5.0,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip() or None if process.returncode == 0 else None
