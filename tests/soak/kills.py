"""Sweeps whose processes are killed at random moments: nothing that was finished is ever lost.

Of each kill it is drawn who is hit and when: the batch parent alone, a process that it has started
(it measures, exports or idles), or the parent and all that it has started. After each, what the
journal and the samples held is held still, byte for byte; at the end of each sweep every round is
there once. SOAK_KILLS (100) kills, fewer where the time is over first.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import psutil

from app.cases.round import Limits
from app.cases.status import TERMINAL
from app.plan.plan import Lengths, Plan, named_lengths
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import is_being_written
from app.runs.reader import read_run
from app.sweep.run_creation import create_run
from runtimes.options import OptionValue
from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT

KILLS = 100
ROUNDS = 3
UNDER_WAY = 0.8
"""So many parents are hit after their first round has begun, others perhaps while they begin."""
LONGEST_ROUNDS = 3.0
"""From then on they live at most as long as so many rounds take where nothing is hit."""
GONE_S = 15.0
MOMENT = Lengths(
    ROUNDS, 60.0, Limits(0.05, 0.5, 20, warmup_min_s=0.0, warmup_max_s=0.1, warmup_min_iterations=2)
)
WHOM = ("parent", "worker", "all")


@dataclass
class Kept:
    """What a run folder holds for good: its finished rounds, their lines and samples."""

    lines: dict[tuple[str, int], bytes] = field(default_factory=dict)
    samples: dict[str, bytes] = field(default_factory=dict)


def hold_on(folder: Path, content: Kept) -> None:
    """AssertionError if anything that was finished is another now; then know what is new."""
    now = Kept(finished_lines(folder))
    names = [json.loads(line)["samples"] for line in now.lines.values()]
    now.samples = {name: (folder / "samples" / name).read_bytes() for name in names if name}
    lost_pairs = content.lines.items() - now.lines.items()
    assert not lost_pairs, f"finished rounds were lost or changed: {lost_pairs} in {folder}"
    changed = [name for name, data in content.samples.items() if now.samples[name] != data]
    assert not changed, f"samples of finished rounds changed: {changed} in {folder}"
    content.lines, content.samples = now.lines, now.samples


def finished_lines(folder: Path) -> dict[tuple[str, int], bytes]:
    """By case and round; AssertionError for one that is there twice. A torn last line is none."""
    lines_by_pair: dict[tuple[str, int], bytes] = {}
    for path in sorted((folder / "journal").glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            entry = json.loads(line)
            # What was killed from outside is tried again, and recorded once more.
            is_final = entry["kind"] == "round" and not entry["transient"]
            if is_final and entry["status"] != "cancelled":
                pair = entry["case_id"], entry["round"]
                assert pair not in lines_by_pair, f"{pair} was measured twice in {folder}"
                lines_by_pair[pair] = line
    return lines_by_pair


def main(seed: int, minutes: float) -> None:
    chance = random.Random(seed)
    kill_count = int(os.environ.get("SOAK_KILLS") or KILLS)
    deadline_s = time.monotonic() + minutes * 60
    hit: Counter[str] = Counter()
    sweeps = rounds = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["GRAPHLAP_CACHE"] = f"{scratch}/cache"
        longest_s = LONGEST_ROUNDS * round_s(Path(scratch))
        while hit.total() < kill_count and time.monotonic() < deadline_s:
            folder = new_sweep(Path(scratch), str(sweeps))
            rounds += killed_and_resumed(folder, chance, hit, kill_count, deadline_s, longest_s)
            sweeps += 1
            sys.stdout.write(f"{hit.total()} kills, {rounds} rounds: {told(hit)}\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{hit.total()} of {kill_count} kills in {sweeps} sweeps, {rounds} rounds; none lost, none "
        f"twice, nothing left behind\n"
    )


def round_s(scratch: Path) -> float:
    """How long a round takes here and now, by a sweep that nothing hits; it fills the cache."""
    folder = new_sweep(scratch, "undisturbed")
    code = resume(folder).wait(timeout=600)
    assert code == 0, errors_of(folder)
    ended_s = max(path.stat().st_mtime for path in (folder / "journal").iterdir())
    begun_s = min(path.stat().st_mtime for path in (folder / "samples").iterdir())
    return (ended_s - begun_s) / (complete(folder, 0) - 1)


def new_sweep(scratch: Path, name: str) -> Path:
    """A folder that no round has been measured for: the scripted runtime and a real engine."""
    graph = write_add_graph(scratch / "add.onnx")
    fake: dict[str, tuple[OptionValue, ...]] = {"fake.latency_us": (50, 60, 70)}
    plan = Plan(
        seed=zlib.crc32(name.encode()),
        sweeps=(
            Sweep(models=(str(graph),), runtimes=("fake",), options=fake),
            Sweep(models=("mlp",), runtimes=("ort-cpu",), batch_size=(1, 2)),
        ),
    )
    with patch.dict(named_lengths(), {"quick": MOMENT}):
        folder = create_run(plan, scratch / f"run-{name}")
    folder.close()
    return folder.path


def killed_and_resumed(
    folder: Path,
    chance: random.Random,
    hit: Counter[str],
    kill_count: int,
    deadline_s: float,
    longest_s: float,
) -> int:
    """Resume the sweep until it is complete; gives how many rounds it has then.

    No more is hit once it was `kill_count` times, or `deadline_s` is over (monotonic seconds).
    """
    content, crash_count = Kept(), 0
    while True:
        process = resume(folder)
        if chance.random() < UNDER_WAY:
            wait_for_round(process, folder)
        seconds = chance.uniform(0.0, longest_s)
        has_ended = hit.total() >= kill_count or time.monotonic() >= deadline_s
        if has_ended or exits_within(process, seconds):
            code = process.wait(timeout=300)
            assert code in (0, 1), f"the batch mode ended with {code}: {errors_of(folder)}"
            hold_on(folder, content)
            if is_over(folder):
                return complete(folder, crash_count)
            continue  # an export that was hit is tried again
        target = chance.choice(WHOM)
        if target == "worker":
            # Its round is told as crashed, and the parent goes on until it is hit itself.
            if not kill_worker(process, chance):
                target = "parent"
            else:
                crash_count += 1
                hit[target] += 1
                if exits_within(process, chance.uniform(0.0, longest_s)):
                    continue
                target = chance.choice(("parent", "all"))
        kill(process, folder, everyone=target == "all")
        hit[target] += 1
        hold_on(folder, content)


def is_over(folder: Path) -> bool:
    """Whether no case lacks anything any more."""
    run = read_run(folder)
    return all(
        len(rounds := run.rounds_of(case)) == ROUNDS
        or not TERMINAL.isdisjoint(result.status for result in rounds)
        for case in run.cases
    )


def resume(folder: Path) -> subprocess.Popen[bytes]:
    """The batch mode on the folder, whose errors are kept beside it."""
    with (folder / "errors").open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "app", "resume", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=folder.parent,
            start_new_session=True,
        )


def wait_for_round(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Until this parent says that it measures, or has ended."""
    while process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            live = json.loads((folder / "live.json").read_text("utf-8"))
            if live["pid"] == process.pid and live["state"] == "measuring":
                return
        time.sleep(0.01)


def exits_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def kill_worker(process: subprocess.Popen[bytes], chance: random.Random) -> bool:
    """Kill one of the processes that the parent has started; False if there is none now."""
    with contextlib.suppress(psutil.Error):
        workers = psutil.Process(process.pid).children(recursive=True)
        if workers:
            chance.choice(workers).kill()
            return True
    return False


def kill(process: subprocess.Popen[bytes], folder: Path, *, everyone: bool) -> None:
    """Kill the parent, and wait until nothing of it is left: children die with it."""
    try:
        workers = psutil.Process(process.pid).children(recursive=True)
    except psutil.Error:
        workers = []
    process.kill()
    for worker in workers if everyone else ():
        with contextlib.suppress(psutil.Error):
            os.kill(worker.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=GONE_S)
    assert not alive, f"processes outlived their parent: {alive}"
    deadline = time.monotonic() + GONE_S
    while is_being_written(folder):
        assert time.monotonic() < deadline, "the lock outlived its holder"
        time.sleep(0.01)


def complete(folder: Path, crash_count: int) -> int:
    """Every case has all its rounds, but for those whose own process was hit; nothing more lies
    there than what the journal tells of."""
    run = read_run(folder)
    assert not run.damaged, run.damaged
    ended = [case for case in run.cases if len(run.rounds_of(case)) < ROUNDS]
    for case in ended:
        assert "crashed" in {result.status for result in run.rounds_of(case)}, case
    assert len(ended) <= crash_count, f"{ended} failed, {crash_count} workers were hit: {folder}"
    results = [result for rounds in run.rounds.values() for result in rounds.values()]
    left = {path.name for path in (folder / "samples").iterdir()}
    left -= {result.samples for result in results}
    assert not left, f"samples of no round were left behind: {left}"
    drafts = list(folder.rglob(".*"))
    assert not drafts, f"drafts were left behind: {drafts}"
    return len(results)


def errors_of(folder: Path) -> str:
    return (folder / "errors").read_text("utf-8", "replace")[-2000:]


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
