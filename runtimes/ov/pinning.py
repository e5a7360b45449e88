"""What OpenVINO's pinning of threads does to several sessions of one process.

The engine chooses cores for the threads of a session as if it were alone, so that each session of
a process has the first ones. Streams of one session share its threads, and these have a core each.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_void_p

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.options import SESSIONS, OptionValue
from runtimes.ov.library import Library, OpenVinoError
from runtimes.session.host_cpu import usable_cores

OPTION = "cpu_pinning"


def pinned_threads(engine: Library, compiled: c_void_p) -> int:
    """How many threads of a compiled model stay on a core of their own, as it says itself; 0 where
    none do, and of devices that have no such property."""
    try:
        if engine.property(compiled, "ENABLE_CPU_PINNING") != "YES":
            return 0
        return int(engine.property(compiled, "INFERENCE_NUM_THREADS"))
    except OpenVinoError:
        return 0


def on_the_same_cores(threads: int, options: Mapping[str, OptionValue]) -> tuple[Diagnostic, ...]:
    """The warning of several sessions with so many pinned threads each; none where these have all
    cores anyway."""
    sessions, cores = int(options[SESSIONS.name]), usable_cores()
    if sessions == 1 or not 0 < threads < cores:
        return ()
    return (diagnostic("threads_pinned_together", sessions=sessions, threads=threads, cores=cores),)
