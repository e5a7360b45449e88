"""What the program itself costs: start, exports, large sweeps, reading runs, a simulated card."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import ioctl
from functools import partial
from pathlib import Path

import psutil

from app.columns.rows import Rows
from app.run_folder import statistics_store
from app.run_folder.folder import RunFolder
from app.run_folder.table import write_tables
from app.runs.reader import read_run
from app.sweep.engine import Completed, Engine
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from exporters.cache import clear_part
from exporters.messages import ExportReply, ExportRequest
from exporters.models import catalogue
from exporters.types import axes_key, load_reference
from runtimes.fpga import cards
from runtimes.fpga.card import compiler, timing
from runtimes.fpga.cards import Card
from runtimes.fpga.graph import importer
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.runtime import Fpga
from runtimes.options import Settings
from tests.app.sweep.sweeps import write_add_graph
from tests.benchmarks import measured
from tests.benchmarks.measured import BATCH_1, graphlap, installed, program, spread_text
from tests.benchmarks.stored_runs import stored_run
from tests.benchmarks.tables import write_table
from tests.checkout import ROOT
from tests.layers import write_layers

_APP = [sys.executable, "-m", "app"]


def start(runs: int = 7) -> None:
    """How long a user waits: for the list of models, for the first line of a run in seconds of a
    core, from launch to the first sample, and until a terminal shows a figure and an interval."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = installed(folder / "compiled")
        imported = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "app", "models"],
            capture_output=True, text=True, check=True,
        ).stderr  # fmt: skip
        engines = [e for e in ("torch", "onnxruntime", "openvino") if f" {e}\n" in imported]
        listed = [_listed_s(environment) for _ in range(1 + runs)][1:]
        print(f"--list: {spread_text(listed)} (aim < 0.5 s); engines imported: {engines}")
        lines = [_first_line_s(folder / f"line{number}") for number in range(runs)]
        print(f"first line of a run, of a core: {spread_text(lines)} (aim < 0.5 s)")
        waits = [_first_sample_s(folder / f"sample{number}") for number in range(1 + runs)][1:]
        print(f"launch to first sample, warm cache: {spread_text(waits)} (aim < 3 s)")
        shown = [_shown_s(folder / f"shown{number}", environment) for number in range(runs)]
        for title, seconds in zip(("figure", "interval"), zip(*shown, strict=True), strict=True):
            print(f"first {title} on the screen, two engines, empty cache: {spread_text(seconds)}")


def _listed_s(environment: dict[str, str]) -> float:
    start_s = time.perf_counter()
    subprocess.run([*_APP, "models"], capture_output=True, check=True, env=environment)
    return time.perf_counter() - start_s


def _first_line_s(out: Path) -> float:
    """Seconds of processor that a run took until its first line."""
    command = [*_APP, "run", "cnn_tiny", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        child.stderr.readline()
        times = psutil.Process(child.pid).cpu_times()
        child.kill()
    return float(sum(times[:4]))


def _first_sample_s(out: Path) -> float:
    """Seconds from starting a run of one case until its samples file has a record."""
    command = [
        *_APP,
        "run",
        "cnn_tiny",
        "--runtimes",
        "ort-cpu",
        "--rounds",
        "1",
        "--out",
        str(out),
    ]
    start_s = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        while not any(f.stat().st_size for f in out.glob("samples/*.bin")):
            if child.poll() is not None:
                raise RuntimeError(f"the run ended with {child.returncode} before a sample")
            time.sleep(0.005)
        wait_s = time.perf_counter() - start_s
        child.terminate()
    return wait_s


_NUMBER = r"p50 \d[\d,.]* (?:ns|µs|ms|s)\b"
_SHOWN = (re.compile(_NUMBER), re.compile(rf"{_NUMBER} \(\d|p50 within (?:±|a factor)"))
"""How a figure and an interval look on the screen."""


def _shown_s(out: Path, environment: dict[str, str]) -> list[float]:
    """Seconds from Enter until a figure stands on a terminal, and until an interval does."""
    command = [*_APP, "run", "cnn_med", "--runtimes", "ort-cpu,openvino-cpu", "--out", str(out)]
    screen, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    start_s, waits, text = time.perf_counter(), list[float](), ""
    child = subprocess.Popen(
        command, env={**environment, "GRAPHLAP_CACHE": f"{out}-cache"},
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    try:
        while len(waits) < len(_SHOWN):
            if not select.select([screen], [], [], 180.0)[0]:
                raise RuntimeError(f"nothing new in three minutes: {text[-2000:]}")
            text += os.read(screen, 1 << 16).decode("utf-8", "replace")
            if _SHOWN[len(waits)].search(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)):
                waits.append(time.perf_counter() - start_s)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        os.close(screen)
    return waits


def share(rounds: int = 2) -> None:
    """The share of a standard sweep's wall time that is spent warming up and measuring."""
    words = ("run", "cnn_tiny", "lstm_small", "mlp", "--runtimes", "ort-cpu,torch-cpu", "--rounds")
    with tempfile.TemporaryDirectory() as folder:
        graphlap(*words, 1, "--preset", "quick", "--out", f"{folder}/warm")
        start_s = time.perf_counter()
        graphlap(*words, rounds, "--preset", "standard", "--out", f"{folder}/standard")
        wall_s = time.perf_counter() - start_s
        phases_ms = Counter[str]()
        for journal in Path(folder).glob("standard/journal/*.jsonl"):
            for line in journal.read_text().splitlines():
                phases_ms.update(json.loads(line).get("phases_ms", {}))
    useful_s = (phases_ms["warmup"] + phases_ms["measure"]) / 1e3
    print(f"{wall_s:.1f} s, {useful_s:.1f} s of it warming up and measuring: "
          f"{useful_s / wall_s:.0%} (aim >= 60 %)\n")  # fmt: skip
    write_table(("phase", "s"), ((k, f"{ms / 1e3:.2f}") for k, ms in phases_ms.most_common()))


@dataclass
class _Exports:
    """A source of work that only exports."""

    models: list[str]

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        return ExportWork(ExportRequest(self.models.pop(0)), 600.0) if self.models else None


def export(suites: Sequence[str] = ()) -> None:
    """How long all exports take, cold and warm, and how much memory an export process takes: two
    processes behind the sweep's own engine, each model at its default axes, into a new cache."""
    by_suite = catalogue.by_suite()
    zoo = [] if suites else [definition.name for definition in by_suite.pop("zoo")]
    others = [d.name for suite in suites or by_suite for d in by_suite[suite]]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRAPHLAP_CACHE"] = folder
        for title, models, aim in (
            ("everything but the zoo", others, "< 3 min"),
            ("zoo", zoo, "< 20 min, peak < 6 GiB"),
        ):
            for state in ("cold", "warm") if models else ():
                start_s, replies = time.perf_counter(), _replies(models)
                # Linux has the largest child there ever was, so the order of the walks matters.
                peak_gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
                print(
                    f"{title}, {state}: {len(replies)} models in "
                    f"{time.perf_counter() - start_s:.0f} s, "
                    f"{sum(reply.cached for reply in replies)} from the cache, largest process so "
                    f"far {peak_gib:.2f} GiB (aim cold {aim}); load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    print(f"the cache took {size / 2**30:.2f} GiB")


def _replies(models: Sequence[str]) -> list[ExportReply]:
    replies = []
    with Engine(_Exports(list(models))) as engine:
        while not engine.finished:
            for event in engine.poll(1.0):
                if isinstance(event, Completed) and isinstance(event.work, ExportWork):
                    replies += [event.work.reply] if event.work.reply is not None else []
                    if event.work.failed:
                        print(f"  {event.work.text()}")
    return replies


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
            [*_APP, *arguments], cwd=scratch, stdout=log, stderr=log, env=program()
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


def fpga(layers: int = 300) -> None:
    """How long the simulated card takes to answer: timing a graph, and computing its outputs."""
    card, names = cards.load_card("v80"), ("cnn_tiny", "cnn_med", "lstm_tiny", "lstm_large", "mlp")
    models = {name: measured.export(name) for name in names}
    for name, model in models.items():
        graph = importer.load(model.path, BATCH_1)
        spent = _ms(partial(_compiled_us, graph, card))
        print(f"{name}: compiled and timed in {spent} (aim < 10 ms)", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deep.onnx"
        write_layers(path, layers)
        start_s = time.perf_counter()
        timing.latency_us(compiler.compile_graph(importer.load(path, {}), card))
        seconds = time.perf_counter() - start_s
        print(f"{layers} dense layers: read, compiled and timed in {seconds:.2f} s (aim < 1 s)")
    model = models["lstm_large"]
    with Fpga().compile(model, BATCH_1, Settings(device="v80")) as session:
        lane = session.lanes[0]
        lane.bind(load_reference(model.references[axes_key(BATCH_1)]).inputs)
        lane.run()
        print(f"lstm_large: one step computed in {_ms(lane.run)} (aim < 100 ms)")


def _compiled_us(graph: Graph, card: Card) -> float:
    return timing.latency_us(compiler.compile_graph(graph, card))


def _ms(call: Callable[[], object]) -> str:
    times_ms = []
    for _ in range(9):
        start_s = time.perf_counter()
        call()
        times_ms.append((time.perf_counter() - start_s) * 1e3)
    return spread_text(times_ms, unit=" ms")
