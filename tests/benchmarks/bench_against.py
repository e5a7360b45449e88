"""Is B 10 % slower than A? Graphlap and what engineers use otherwise, side by side.

In one half of the tries B is a copy of A, in the other a graph with about 10 % more work, and the
tools answer in an order that is drawn anew, so that all of them meet the same machine. To the loop
and benchmark_app B is slower if its median is more than 5 % above A's, to pyperf if its mean is and
its own test finds that significant, to Graphlap by its verdict on the p50 with a threshold of 5 %.

Graphlap, the loop and pyperf run ONNX Runtime on one thread; benchmark_app runs OpenVINO on one.
OpenVINO removes pairs of negations, so there the work is softmaxes. How many of each make 10 % is
found once by Graphlap, whose calls have less of Python around them: the others see a smaller share.

`GRAPHLAP_PAIRS` sets the number of tries. pyperf is left out where it can't be imported.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.bench_openvino import benchmark_app_us
from tests.benchmarks.bench_turns import add_nodes, compared, export_network
from tests.benchmarks.pairs import PAIRS
from tests.checkout import ROOT

NETWORK, SHAPE, SEED = "mlp", "x[1,256]", 49
SLOWER, LIMIT = 1.10, 1.05
MORE_WORK = {"ort-cpu": ("Neg", (6, 7, 8)), "openvino-cpu": ("Softmax", (1, 2, 3))}
"""By runtime a node, and how many of it could make the network about 10 % slower."""
WORDS = ("--metrics", "p50", "--sequential", "--rounds", "16", "--threshold", "5%")
APP_SECONDS = 5
_LOOP = str(Path(__file__).with_name("ort_loop.py"))


class Answer(NamedTuple):
    tool: str
    is_slower: bool
    """Whether B was made slower than A, not what the tool said."""
    word: str
    ratio: float
    seconds: float


def main() -> None:
    tries = PAIRS or 20
    tools: dict[str, Callable[[Path, str, str], tuple[str, float]]] = {
        "graphlap": _graphlap,
        "loop": _loop,
        "pyperf": _pyperf,
        "benchmark_app": _benchmark_app,
    }
    if find_spec("pyperf") is None:
        del tools["pyperf"]
        sys.stdout.write("pyperf is left out: it is not installed\n")
    generator = random.Random(SEED)
    answers: list[Answer] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for runtime in MORE_WORK:
            _write_graphs(folder / runtime, runtime)
        graphs = ["copy", "more"] * ((tries + 1) // 2)
        for number, graph in enumerate(generator.sample(graphs, tries), start=1):
            for tool in generator.sample(list(tools), len(tools)):
                load, start_s = os.getloadavg()[0], time.monotonic()
                word, ratio = tools[tool](folder, graph, f"{tool}-{number}")
                seconds = time.monotonic() - start_s
                answers.append(Answer(tool, graph == "more", word, ratio, seconds))
                sys.stdout.write(
                    f"{number} {graph} {tool}: {word} {ratio:.3f}, {seconds:.1f} s, "
                    f"load {load:.1f}\n"
                )
                sys.stdout.flush()
    sys.stdout.write("\n" + _table([[a for a in answers if a.tool == tool] for tool in tools]))


def _table(by_tool: list[list[Answer]]) -> str:
    """A row for each tool."""
    lines = [
        "| tool | tries | wrong on copies | missed | undecided | ratio of copies | of slower ones "
        "| median seconds | worst seconds |",
        "| --- " * 9 + "|",
    ]
    for answers in by_tool:
        copies = [answer for answer in answers if not answer.is_slower]
        slower = [answer for answer in answers if answer.is_slower]
        cells = (
            answers[0].tool,
            len(answers),
            f"{sum(answer.word == 'slower' for answer in copies)} of {len(copies)}",
            f"{sum(answer.word != 'slower' for answer in slower)} of {len(slower)}",
            sum(answer.word == "undecided" for answer in answers),
            _extent(copies),
            _extent(slower),
            f"{statistics.median(answer.seconds for answer in answers):.1f}",
            f"{max(answer.seconds for answer in answers):.1f}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _extent(answers: list[Answer]) -> str:
    """The median of the ratios, and the extreme ones."""
    if not answers:
        return "none"
    ratios = [answer.ratio for answer in answers]
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def _write_graphs(folder: Path, runtime: str) -> None:
    """The network as base.onnx, its copy, and more.onnx that takes about 10 % longer."""
    folder.mkdir()
    base = export_network(folder, NETWORK)
    node, counts = MORE_WORK[runtime]
    ratios = {}
    for count in counts:
        add_nodes(base, folder / "more.onnx", node, count)
        words = ("--metrics", "p50", "--rounds", "6")
        ratios[count] = compared(folder, "more", words, f"with-{count}", runtime)[1]
    nearest = min(counts, key=lambda count: abs(ratios[count] - SLOWER))
    add_nodes(base, folder / "more.onnx", node, nearest)
    shutil.copy(base, folder / "copy.onnx")
    sys.stdout.write(
        f"{NETWORK} on {runtime}: {nearest} nodes {node} more take {ratios[nearest]:.3f} "
        f"of the time ({', '.join(f'{count}: {ratio:.3f}' for count, ratio in ratios.items())})\n"
    )
    sys.stdout.flush()


def _graphlap(folder: Path, graph: str, out: str) -> tuple[str, float]:
    return compared(folder / "ort-cpu", graph, WORDS, out)[:2]


def _loop(folder: Path, graph: str, _: str) -> tuple[str, float]:
    base, other = (
        float(_output(_LOOP, "loop", str(folder / "ort-cpu" / f"{name}.onnx")))
        for name in ("base", graph)
    )
    return _judged(other / base)


def _pyperf(folder: Path, graph: str, out: str) -> tuple[str, float]:
    means, results = [], []
    for name in ("base", graph):
        result = folder / f"{out}-{name}.json"
        words = ("--fast", "--quiet", "--copy-env", "--output", str(result))
        _output(_LOOP, *words, "pyperf", str(folder / "ort-cpu" / f"{name}.onnx"))
        runs = json.loads(result.read_text("utf-8"))["benchmarks"][0]["runs"]
        means.append(statistics.mean(value for run in runs for value in run.get("values", ())))
        results.append(str(result))
    told = _output("-m", "pyperf", "compare_to", "-v", *results)
    word, ratio = _judged(means[1] / means[0])
    return "same" if "Not significant" in told else word, ratio


def _benchmark_app(folder: Path, graph: str, _: str) -> tuple[str, float]:
    base, other = (
        benchmark_app_us(folder / "openvino-cpu" / f"{name}.onnx", SHAPE, APP_SECONDS)
        for name in ("base", graph)
    )
    return _judged(other / base)


def _judged(ratio: float) -> tuple[str, float]:
    return "slower" if ratio > LIMIT else "same", ratio


def _output(*arguments: str) -> str:
    """What Python printed, run with these arguments."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
