"""What the program itself costs: its start, exports, a sweep, a simulated card."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from functools import partial
from pathlib import Path

import psutil

from app.sweep.engine import Completed, Engine
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
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
from tests.benchmarks import measured
from tests.benchmarks.measured import BATCH_1, graphlap, installed, spread_text
from tests.benchmarks.tables import write_table
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
