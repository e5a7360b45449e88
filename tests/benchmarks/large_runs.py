"""Large runs: what planning, resuming, following and reading them costs.

It imports little: the most memory of a child counts from that of the process that starts it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.run_folder import statistics_store
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from exporters.cache import clear_part
from tests.app.sweep.sweeps import write_add_graph
from tests.benchmarks.measured import program
from tests.benchmarks.stored_runs import stored_run
from tests.benchmarks.tables import write_table
from tests.checkout import ROOT

_FOLLOW = """
import resource, sys, time
from pathlib import Path
from app.runs.following.reader import RunReader
begun = time.process_time()
reader = RunReader(Path(sys.argv[1]))
reader.poll()
opened = time.process_time()
reader.poll()
again = time.process_time()
reader.close()
held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
opened, again = opened - begun, again - opened
print(f"followed: {opened:.2f} s of a core to open, {again:.3f} s to look again, {held} MiB")
"""


def scale(sizes: Sequence[int] = (1_000, 10_000, 100_000)) -> None:
    """A sweep of 1,000, 10,000 and 100,000 cases: until it measures, until its first round has
    ended, until it is over after Ctrl-C; and the same resumed.

    Seconds are from the start of the command, as a user waits for them. The parent's own seconds of
    a core are its work, also where others work beside it; the memory is the most that it held. Then
    the window's follower opens what is there, in a process of its own.
    """
    print(f"aims at 100,000: planned, resumed in < 5 s, < 500 MB; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["GRAPHLAP_CACHE"] = f"{scratch}/cache"
        write_add_graph(Path(scratch) / "add.onnx", ("batch", 3))
        _interrupt(Path(scratch), 100)  # fills the cache
        for cases in sizes:
            first, then = _interrupt(Path(scratch), cases)
            print(f"{cases:7,d} new:      {first}\n        resumed:  {then}")
            command = [sys.executable, "-c", _FOLLOW, f"{scratch}/run{cases}"]
            followed = subprocess.run(command, capture_output=True, text=True, check=True)
            print(f"        {followed.stdout}", end="", flush=True)


def _interrupt(scratch: Path, cases: int) -> tuple[str, str]:
    """A new sweep, and the same resumed, each interrupted in its first round's neighbour."""
    run, ten = scratch / f"run{cases}", "1,2,3,4,5,6,7,8,9,10"
    new = ["run", "add.onnx", "--runtimes", "fake", "--out", str(run), "--batch", ten]
    new += ["--threads", ten, "--option", f"fake.seed={','.join(map(str, range(cases // 100)))}"]
    return _watch(new, run, scratch), _watch(["resume", str(run)], run, scratch)


def _watch(arguments: list[str], run: Path, scratch: Path) -> str:
    before, text = _rounds(run), scratch / "log"
    with text.open("w+b") as log:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "app", *arguments],
            cwd=scratch,
            stdout=log,
            stderr=log,
            env=program(),
        )

        def until(happened: Callable[[], bool]) -> float:
            while not happened():
                if process.poll() is not None or time.perf_counter() - begun > 600.0:
                    raise RuntimeError(text.read_text())
                time.sleep(0.01)
            return time.perf_counter() - begun

        planned_s = until(lambda: b" cases, " in text.read_bytes())
        planned_cpu_s = sum(psutil.Process(process.pid).cpu_times()[:2])
        first_s = until(lambda: _rounds(run) > before)
        asked = time.perf_counter()
        for _ in range(2):
            process.send_signal(signal.SIGINT)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # it is reaped
    return (
        f"measures after {planned_s:5.2f} s ({planned_cpu_s:.2f} of a core), first round after "
        f"{first_s:5.2f} s, over {time.perf_counter() - asked:5.2f} s after Ctrl-C; "
        f"{used.ru_utime + used.ru_stime:5.2f} s of a core in all, {used.ru_maxrss >> 10:3d} MiB"
    )


def _rounds(run: Path) -> int:
    journals = (path.read_bytes() for path in (run / "journal").glob("*.jsonl"))
    return sum(text.count(b'{"kind":"round"') for text in journals)


def reading(revision: str = "", cases: int = 0, nights: int = 200) -> None:
    """What reading a large run takes the first and the second time: seconds of a core, memory.

    Two runs of the same cases are made, without measuring. Each command is a process of its own;
    before the first time nothing is stored. With a git revision (`--against`), the same commands
    are run by that revision too, in turn with ours, so that the ratios are of one load.
    GRAPHLAP_CASES sets how many cases there are.
    """
    cases = cases or int(os.environ.get("GRAPHLAP_CASES", "1000"))
    print(f"{cases:,} cases of 3 rounds of 400 runs; aims at 10,000 cases, the second time: < 10 s")
    print("and < 500 MB each, verify < 20 s\n")
    with tempfile.TemporaryDirectory() as name, _checkout(revision, Path(name)) as other:
        scratch = Path(name)
        os.environ["GRAPHLAP_CACHE"] = str(scratch / "cache")
        runs = [str(stored_run(scratch / "runs" / f"{n}", cases, seed=n)) for n in range(2)]
        for run in runs:
            _cost(ROOT, "-m", "app", "export", "-f", "csv", run)
        for night in range(nights):
            short = stored_run(
                scratch / "nights" / f"{night}", 2, 3, 400, night, (50.0, 97.5, 99.0)
            )
            with RunFolder.reopen(short) as folder:
                write_tables(folder, Rows().of(read_run(short)))
        follower = f"{_FOLLOW.split('opened = ', maxsplit=1)[0]}reader.close()"
        heads = ("command", "first", "second", "second/first")
        write_table(
            (*heads, "revision", "first/revision", "second/revision")[: 7 if other else 4],
            (
                _costs(label, arguments, other, runs[0])
                for label, arguments in {
                    "verify": ("-m", "app", "verify", runs[0]),
                    "show": ("-m", "app", "show", runs[0]),
                    "export json": ("-m", "app", "export", "-f", "json", runs[0]),
                    "export csv": ("-m", "app", "export", "-f", "csv", runs[0]),
                    "compare": ("-m", "app", "compare", *runs),
                    "report": ("-m", "app", "report", runs[0], "-o", f"{scratch}/page.html"),
                    "resume": ("-m", "app", "resume", runs[0]),
                    "window": ("-c", follower, runs[0]),
                    f"history of {nights} runs": ("-m", "app", "history", f"{scratch}/nights"),
                }.items()
            ),
        )
    print(f"\nload {os.getloadavg()[0]:.1f}")


def _costs(
    label: str, arguments: tuple[str, ...], other: Path | None, run: str
) -> Sequence[object]:
    theirs = [_cost(other, *arguments)] if other else []
    if not label.startswith("history"):
        clear_part(statistics_store.folder())
    first = _cost(ROOT, *arguments)
    if label in ("verify", "window"):  # which store nothing
        _cost(ROOT, "-m", "app", "export", "-f", "json", run)
    second = _cost(ROOT, *arguments)
    cells = [f"{cpu_s:.1f} s, {memory} MiB{failed}" for cpu_s, memory, failed in (first, second)]
    ratios = [f"{mine[0] / their[0]:.2f}" for their in theirs for mine in (first, second)]
    theirs_text = [f"{cpu_s:.1f} s, {memory} MiB{failed}" for cpu_s, memory, failed in theirs]
    return label, *cells, f"{second[0] / first[0]:.2f}", *theirs_text, *ratios


def _cost(root: Path, *arguments: str) -> tuple[float, int, str]:
    """Seconds of a core, the most memory [MiB] of a command with its children, and its failure."""
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=root, env=program(root),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    failed = f" (exit code {process.returncode})" if process.returncode else ""
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10, failed


@contextmanager
def _checkout(revision: str, scratch: Path) -> Iterator[Path | None]:
    """Where the files of another revision lie; None without one."""
    if not revision:
        yield None
        return
    place = scratch / "other"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", "--quiet", str(place), revision], check=True)
    try:
        yield place
    finally:
        shutil.rmtree(place)
        subprocess.run([*git, "prune"], check=True)
