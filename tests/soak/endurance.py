"""Many sweeps, followers and exports in one process: at the end it holds what it held at the start.

Handles, threads, child processes, files in the folder for temporary ones and the bytes of the cache
are to be exactly as many. Memory may have grown by `MOST_GROWTH_BYTES`: an allocator keeps pages
that were freed, and hands them out again, so that the first passes add some and later ones do not.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import psutil

from app.__main__ import main as command
from app.machine.child import Worker
from app.plan.plan import named_lengths
from app.runs.following.reader import RunReader
from app.sweep.work.local_executor import ThisMachine
from exporters.codec import object_of, to_json
from exporters.messages import ExportRequest
from tests.app.cli.headless.mutant_runs import MOMENT
from tests.app.sweep.sweeps import write_add_graph

FIRST_PASSES = 6
"""Until then what is imported, kept and pooled once is there."""
LEAST_PASSES = 10
MOST_GROWTH_BYTES = 12 * 2**20
GRAPHS = 4
ANSWER_S = 120.0


def main(seed: int, minutes: float) -> None:
    del seed  # nothing is drawn
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name in ("cache", "temporary", "graphs"):
            (scratch / name).mkdir()
        os.environ |= {
            "GRAPHLAP_CACHE": f"{scratch}/cache",
            "TMPDIR": f"{scratch}/temporary",
        }
        tempfile.tempdir = None  # asked for anew
        graphs = [
            write_add_graph(scratch / "graphs" / f"add{number}.onnx", ("batch", 3 + number))
            for number in range(GRAPHS)
        ]
        share_s = minutes * 60 / 3
        passes("sweeps", lambda: sweep(scratch, graphs), scratch, share_s)
        measured(scratch / "followed", graphs)
        passes("followers", lambda: follow(scratch / "followed"), scratch, share_s)
        with ThisMachine() as place:
            exporter = place.exporter()
            ask(exporter, graphs[0])
            server = psutil.Process(exporter.pid)
            passes("exports", lambda: export(exporter, graphs), scratch, share_s, server)
            exporter.close()


def passes(
    name: str,
    once: Callable[[], None],
    scratch: Path,
    seconds: float,
    process: psutil.Process | None = None,
) -> None:
    """Do it again and again; AssertionError if the process then holds more than before."""
    process = process or psutil.Process()
    for _ in range(FIRST_PASSES):
        once()
    start, count = held(process, scratch), 0
    deadline_s = time.monotonic() + seconds
    while count < LEAST_PASSES or time.monotonic() < deadline_s:
        once()
        count += 1
    end = held(process, scratch)
    growth_bytes = end.pop("memory_bytes") - start.pop("memory_bytes")
    sys.stdout.write(f"{count} {name}: {growth_bytes / 2**20:+.1f} MiB; {end}\n")
    sys.stdout.flush()
    assert start == end, f"{name} held {start} at the start and {end} after {count} passes"
    assert growth_bytes <= MOST_GROWTH_BYTES, (
        f"{name} hold {growth_bytes:,} bytes more after {count} passes"
    )


def held(process: psutil.Process, scratch: Path) -> dict[str, int]:
    """What a process and its folders hold."""
    gc.collect()
    is_own_process = process.pid == os.getpid()
    return {
        "memory_bytes": process.memory_info().rss,
        "handles": process.num_fds(),
        "threads": threading.active_count() if is_own_process else process.num_threads(),
        "children": len(process.children(recursive=True)),
        "temporary": sum(1 for _ in (scratch / "temporary").rglob("*")),
        "cache_bytes": sum(
            path.stat().st_size
            for path in (scratch / "cache").rglob("*")
            # A lease is a line for each export that a process has asked for, and goes with it.
            if path.is_file() and path.parent.name != "leases"
        ),
    }


def sweep(scratch: Path, graphs: list[Path]) -> None:
    measured(scratch / "run", graphs[:1])
    shutil.rmtree(scratch / "run")


def measured(folder: Path, graphs: list[Path]) -> None:
    """One short round of each graph by the batch mode, in this process."""
    models = ",".join(map(str, graphs))
    arguments = ("--headless", "--models", models, "--runtimes", "fake", "--batch", "2")
    with (
        patch.dict(named_lengths(), {"quick": MOMENT}),
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
    ):
        code = command([*arguments, "--out", str(folder)])
    assert code == 0, f"a sweep ended with {code}"


def follow(folder: Path) -> None:
    """Open a run as the window does, until it has all figures, and close it."""
    reader = RunReader(folder)
    reader.summarise_all()
    try:
        reader.poll()
        while reader.is_moving:
            time.sleep(0.02)
            reader.poll()
    finally:
        reader.close()


def export(exporter: Worker, graphs: list[Path]) -> None:
    for graph in graphs:
        ask(exporter, graph)


def ask(exporter: Worker, graph: Path) -> None:
    """One request, as the batch mode sends it, and its answer."""
    request = ExportRequest(str(graph), "fp32", ({"batch": 2},))
    exporter.send(json.dumps(to_json(request)))
    deadline = time.monotonic() + ANSWER_S
    while not any("status" in object_of(line) for line in exporter.lines()):
        assert time.monotonic() < deadline, "no answer came"
        assert not exporter.ended(), exporter.how_it_ended()
        time.sleep(0.005)
