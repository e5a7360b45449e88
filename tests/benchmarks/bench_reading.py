"""What reading a large run takes the first and the second time: seconds of a core, memory, ratios.

Two runs of the same cases are made, without measuring. Each command is a process of its own; before
the first time nothing is stored. With a git revision (`--against`), the same commands are run by
that revision too, in turn with ours, so that the ratios are of one load. GRAPHLAP_CASES sets how
many cases there are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.columns.rows import Rows
from app.run_folder import statistics_store
from app.run_folder.folder import RunFolder
from app.run_folder.table import write_tables
from app.runs.reader import read_run
from exporters.cache import clear_part
from tests.benchmarks.stored_runs import stored_run
from tests.checkout import ROOT

CASES = int(os.environ.get("GRAPHLAP_CASES", "1000"))
NIGHTS = 200
AIMS = "aims at 10,000 cases, the second time: < 10 s and < 500 MB each, verify < 20 s"
_WINDOW = """
import os, sys, time
from pathlib import Path
from app.runs.following.reader import RunReader
reader = RunReader(Path(sys.argv[1]))
reader.poll()
reader.close()
"""
_APP = ("-m", "app")


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of a core and the most memory, of a command and its children."""

    cpu_s: float
    memory_mib: int
    code: int


def main(revision: str = "") -> None:
    """A line for each command: first, second, and the other revision where one is named."""
    sys.stdout.write(f"{CASES:,} cases of 3 rounds of 400 runs; {AIMS}\n")
    with tempfile.TemporaryDirectory() as name, _checkout(revision, Path(name)) as other:
        scratch = Path(name)
        os.environ["GRAPHLAP_CACHE"] = str(scratch / "cache")
        runs = [stored_run(scratch / "runs" / f"{n}", CASES, seed=n) for n in range(2)]
        for run in runs:
            _timed(ROOT, (*_APP, "export", "-f", "csv", str(run)))
        first, second = map(str, runs)
        for label, arguments in (
            ("verify", (*_APP, "verify", first)),
            ("show", (*_APP, "show", first)),
            ("export json", (*_APP, "export", "-f", "json", first)),
            ("export csv", (*_APP, "export", "-f", "csv", first)),
            ("compare", (*_APP, "compare", first, second)),
            ("report", (*_APP, "report", first, "-o", str(scratch / "page.html"))),
            ("resume", (*_APP, "resume", first)),
            ("window", ("-c", _WINDOW, first)),
        ):
            revision_cost = _timed(other, arguments) if other else None
            clear_part(statistics_store.folder())
            new = _timed(ROOT, arguments)
            if label in ("verify", "window"):  # which store nothing
                _timed(ROOT, (*_APP, "export", "-f", "json", first))
            _tell(label, revision_cost, new, _timed(ROOT, arguments))
        _history(scratch, other)


def _history(scratch: Path, other: Path | None) -> None:
    nights = scratch / "nights"
    for number in range(NIGHTS):
        run = stored_run(nights / f"{number}", 2, seed=number, percentiles=(50.0, 97.5, 99.0))
        with RunFolder.reopen(run) as folder:
            write_tables(folder, Rows().of(read_run(run)))
    arguments = (*_APP, "history", str(nights))
    revision_cost = _timed(other, arguments) if other else None
    _tell(
        f"history of {NIGHTS} runs", revision_cost, _timed(ROOT, arguments), _timed(ROOT, arguments)
    )


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


def _timed(root: Path, arguments: tuple[str, ...]) -> Took:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Took(usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10, process.returncode)


def _tell(label: str, revision_cost: Took | None, first: Took, second: Took) -> None:
    parts = [f"{label:20} first {_cost_text(first)}, second {_cost_text(second)}"]
    parts.append(f"second/first {second.cpu_s / first.cpu_s:.2f}")
    if revision_cost is not None:
        parts.append(f"revision {_cost_text(revision_cost)}")
        parts.append(f"first/revision {first.cpu_s / revision_cost.cpu_s:.2f}")
        parts.append(f"second/revision {second.cpu_s / revision_cost.cpu_s:.2f}")
    sys.stdout.write(f"{'; '.join(parts)}; load {os.getloadavg()[0]:.1f}\n")
    sys.stdout.flush()


def _cost_text(took: Took) -> str:
    failed = f" (exit code {took.code})" if took.code else ""
    return f"{took.cpu_s:5.1f} s {took.memory_mib:4d} MiB{failed}"


if __name__ == "__main__":
    main(*sys.argv[1:2])
