"""`--doctor`: what this machine has for measuring, what it lacks, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import psutil

from app.measure.environment import describe_host
from app.results.manifest import graphlap_version
from app.sweep.available import availability, runtime
from exporters.cache import default_root
from runtimes.base import Unavailable
from runtimes.registry import RUNTIMES


def doctor() -> str:
    """The whole report; imports no engine."""
    return "\n".join([*_machine(), "", "runtimes", *_runtimes(), "", "parts", *_parts()]) + "\n"


def _machine() -> Iterator[str]:
    host = describe_host()
    memory = psutil.virtual_memory()
    yield f"graphlap    {graphlap_version()}"
    yield f"python      {host['python']}"
    yield f"system      {host['os']}"
    yield f"cpu         {host['cpu']}"
    yield (
        f"cores       {host['cores_usable']} usable of {host['cores_logical']} logical, "
        f"{host['cores_physical']} physical"
    )
    governor = host["governor"]
    yield f"governor    {governor or 'not told by this system'}" + (
        "; set it to performance for steady clocks" if governor in _SLOW_GOVERNORS else ""
    )
    load = host["load_1min"]
    busy = load > host["cores_usable"] / 2
    yield f"load        {load:.2f} over the last minute" + (
        "; stop other work before trusting the tail" if busy else ""
    )
    yield f"memory      {memory.available / 2**30:.1f} GiB free of {memory.total / 2**30:.1f}"
    root = default_root()
    yield f"cache       {root}" + ("" if root.exists() else " (made at the first export)")
    if host["virtual_machine"]:
        yield "note        this is a virtual machine: expect a longer tail than on bare metal"


_SLOW_GOVERNORS = ("powersave", "conservative")


def _runtimes() -> Iterator[str]:
    width = max(map(len, RUNTIMES))
    for name in RUNTIMES:
        state = availability(name)
        if isinstance(state, Unavailable):
            yield f"  {name:<{width}}  missing: {state.reason}; {state.remedy}"
            continue
        devices = ", ".join(f"{d.key} ({d.name})" for d in runtime(name).devices())
        yield f"  {name:<{width}}  {state.version}" + (f"; devices: {devices}" if devices else "")


def _parts() -> Iterator[str]:
    for package, use, remedy in _PARTS:
        try:
            yield f"  {package}  {version(package)}"
        except PackageNotFoundError:
            yield f"  {package}  missing, needed for {use}; {remedy}"


_PARTS = (
    ("PySide6-Essentials", "the window", "pip install PySide6-Essentials, or use --headless"),
    ("pyarrow", "--export parquet", "pip install pyarrow"),
    ("torch", "exporting and torch runtimes", "pip install torch"),
)
