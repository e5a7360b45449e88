"""Comparisons on this machine: copies are to be the same, graphs with a little more work slower."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import cycle, islice, product
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from app.analysis.columns.rows import Rows
from app.analysis.comparison.measured_case import COMPARED, MeasuredCase
from app.runs.reader import read_run
from app.stats.verdict import FOUND, difference, judge, smallest_change
from exporters.types import ExportedModel
from tests.benchmarks.measured import (
    BATCH_1,
    LIMITS,
    PAIRS,
    export,
    graphlap,
    interleaved,
    output_of,
    p50_ratio,
    p50_us,
    ratio_text,
    rows_of,
    spread_text,
)
from tests.benchmarks.tables import write_table
from tests.checkout import ROOT
from tests.layers import write_layers


def turns(tries: int = 10) -> None:
    """Three networks against copies of themselves, and against ones with a few nodes more.

    Of each network ten runs against its copy and ten against one that takes about 5 % longer, eight
    rounds each: none may be wrong, the copy is to be `same`, what has more nodes `slower`. Then one
    that takes about 2 % longer, with a threshold of 0.5 %, until it is decided or four minutes are
    over. The load of the machine stands beside each.
    """
    usual = ("--rounds", "8")
    fine = ("--threshold", "0.5%", "--sequential", "--rounds", "60", "--budget", "4m")
    with tempfile.TemporaryDirectory() as scratch:
        # How many pairs of nodes make each about 5 % slower, or as little as one pair can.
        for network, pairs in (("mlp", 2), ("cnn_tiny", 4), ("dense_128_32", 1)):
            folder = Path(scratch) / network
            base = _exported(folder, network)
            shutil.copy(base, folder / "copy.onnx")
            _add_nodes(base, "more", "Neg", 2 * pairs)
            _add_nodes(base, "little", "Neg", 2)
            _compare(network, folder, "copy", tries, usual)
            _compare(network, folder, "more", tries, usual)
            if network == "cnn_tiny":
                _compare(network, folder, "little", (tries + 2) // 4, fine)


def pages(tries: int = 3) -> None:
    """The starter's two models that are larger than the caches, with and without --huge-pages in
    turn: of each try the p50 and by how much its interval reaches beyond it, faults a second."""
    words = ("run", "lstm_large", "char_cnn", "--quiet", "--preset", "brief")
    with tempfile.TemporaryDirectory() as scratch:
        for number, more in product(range(tries), ((), ("--huge-pages",))):
            out = f"{number}{len(more)}"
            graphlap(*words, *more, "--out", out, cwd=Path(scratch))
            for row in rows_of(Path(scratch) / out):
                ends = ("", "ci_low_", "ci_high_")
                p50, low, high = (float(row[f"latency_p50_{end}us"]) for end in ends)
                reach, faults = max(p50 / low, high / p50) - 1, float(row["page_faults_per_s"])
                case = f"{row['model']} {row['runtime']} {' '.join(more) or 'as usual'}"
                print(f"{case}: {p50:,.0f} us, +-{100 * reach:.1f} %, {faults:,.0f} faults/s")


def _compare(network: str, folder: Path, name: str, tries: int, words: Sequence[str]) -> None:
    """Print each verdict of the graph of this name, then how often there was which."""
    counts = Counter[str]()
    for number in range(tries):
        start_s, load = time.monotonic(), os.getloadavg()[0]
        word, (ratio, low, high) = _compared(folder, name, words, f"{name}-{number}")
        counts[word] += 1
        print(
            f"{network} {name} {number + 1}: {word} {ratio:.3f} ({low:.3f} to {high:.3f}), half "
            f"width {50 * (high - low) / ratio:.1f} %, {time.monotonic() - start_s:.0f} s, "
            f"load {load:.1f}",
            flush=True,
        )
    print(f"{network}, {name}: {dict(sorted(counts.items()))}")


def _exported(folder: Path, network: str) -> Path:
    """A network of the catalogue as base.onnx in a new folder."""
    folder.mkdir(parents=True)
    return Path(shutil.copy(export(network).path, folder / "base.onnx"))


def _add_nodes(base: Path, name: str, node_type: str, count: int) -> None:
    """A model with so many nodes of one input after its output, next to the base."""
    model = onnx.load(base)
    output = model.graph.output[0].name
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = ["more0" if value == output else value for value in names]
    for number in range(count):
        after = output if number == count - 1 else f"more{number + 1}"
        model.graph.node.append(helper.make_node(node_type, [f"more{number}"], [after]))
    onnx.save(model, base.with_name(f"{name}.onnx"))


def _compared(
    folder: Path, name: str, words: Sequence[str], out: str, runtime: str = "ort-cpu"
) -> tuple[str, tuple[float, float, float]]:
    """The verdict of a graph against the base, and the ratio of the p50 with its interval."""
    command = ("run", "base.onnx", f"{name}.onnx", "--quiet", "--baseline", "base.onnx")
    graphlap(*command, "--runtimes", runtime, "--preset", "brief", *words, "--out", out, cwd=folder)
    (row,) = (row for row in rows_of(folder / out) if row["baseline_p50_verdict"])
    return row["baseline_p50_verdict"], p50_ratio(row)


def slices() -> None:
    """Whether ratios depend on how they are measured: in turns as they are, in turns four times as
    long, and in rounds, one process after another, which wants a machine without other work.

    ONNX Runtime, OpenVINO and PyTorch with one and two threads, on a network of some 20 us and on
    one whose weights do not fit the last level of cache: each ratio of the p50 to that of ONNX
    Runtime with as many threads, and by how much the other two ways differ from the first.
    """
    longer = {"TURN_S, RUNS = 0.005, 4": "TURN_S, RUNS = 0.020, 16"}
    longer |= {"LONG_TURN_S, LONG_RUNS = 0.050, 24": "LONG_TURN_S, LONG_RUNS = 0.200, 96"}
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        for package in ("app", "assets", "exporters", "runtimes"):
            shutil.copytree(ROOT / package, copy / package)
        module = copy / "app/cases/turns.py"
        text = module.read_text(encoding="utf-8")
        for usual, new in longer.items():
            assert f"\n{usual}\n" in text
            text = text.replace(usual, new)
        module.write_text(text, encoding="utf-8")
        ways = {"turns": (ROOT, "turns"), "four times as long": (copy, "turns")}
        ways["rounds"] = (ROOT, "rounds")
        for model in ("mlp", "lstm_large"):
            found = [
                _ratios(root, Path(scratch) / f"{model} {way}", model, pairing)
                for way, (root, pairing) in ways.items()
            ]
            print(f"\n{model}, 8 rounds, load {os.getloadavg()[0]:.1f}\n")
            write_table(
                ("runtime, threads", *ways),
                (
                    (key, *(_beside(by[key], found[0][key]) for by in found))
                    for key in found[0]
                ),
            )  # fmt: skip


def _beside(ratio: tuple[float, float, float], usual: tuple[float, float, float]) -> str:
    change = f", {100 * (ratio[0] / usual[0] - 1):+.1f} %" if ratio is not usual else ""
    return f"{ratio[0]:.3f} ({ratio[1]:.3f} to {ratio[2]:.3f}){change}"


def _ratios(
    root: Path, out: Path, model: str, pairing: str
) -> Mapping[str, tuple[float, float, float]]:
    """By runtime and threads: each case over that of ONNX Runtime, in one run of this checkout.
    PyTorch is timed in Python, and loops are not compared with each other."""
    words = ["run", model, "--runtimes", "ort-cpu,openvino-cpu,torch-cpu", "--threads", "1,2"]
    words += ["--baseline", "ort-cpu", "--preset", "brief", "--rounds", "8", "--pairing", pairing]
    words += ["--option", "ort-cpu.call=python", "--option", "openvino-cpu.call=python"]
    graphlap(*words, "--huge-pages", "--quiet", "--out", out, cwd=root, root=root)
    return {
        f"{row['runtime']}, {row['threads']}": p50_ratio(row)
        for row in rows_of(out)
        if row["baseline_p50_verdict"]
    }


def gate(pairs: int = 20) -> None:
    """Pairs of short runs on a machine with other work.

    Runs of the same code at loads 0, 2, 6 and 12 in mixed combinations must not end a gate with
    exit code 3; a network with 30 % more layers is to be found slower in 18 of 20 pairs at loads 0
    and 2.
    """
    mixed = [loads for loads in product((0, 2, 6, 12), repeat=2) if loads[0] != loads[1]]
    run = ("run", "net.onnx", "--runtimes", "ort-cpu", "--preset", "quick", "--rounds", "8")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for side, layers in (("old", 10), ("new", 13)):
            (scratch / side).mkdir()
            write_layers(scratch / side / "net.onnx", layers)
        for title, second, combinations in (
            ("same code, mixed loads", "old", mixed),
            ("30 % more layers, loads 0 and 2", "new", list(product((0, 2), repeat=2))),
        ):
            while os.getloadavg()[0] > 1.0:  # it holds some of the work before
                time.sleep(5.0)
            codes: Counter[int] = Counter()
            for number, loads in enumerate(islice(cycle(combinations), pairs)):
                # Runs that lie beside these would be taken for the machine's history.
                runs = [scratch / f"{second}-{number}" / place for place in ("first", "second")]
                for out, load, side in zip(runs, loads, ("old", second), strict=True):
                    with _other_work(load):
                        graphlap(*run, "--quiet", "--out", out, cwd=scratch / side)
                gated = graphlap("compare", *runs, "--fail-on", "slower", check=False)
                codes[gated.returncode] += 1
                print(f"{title}: loads {loads}: exit {gated.returncode}", flush=True)
            print(f"{title}: {dict(sorted(codes.items()))} of {pairs}")


@contextmanager
def _other_work(processes: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        time.sleep(5.0 if busy else 0.0)  # until it runs on every core
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def slowdown(pairs: int = 120) -> None:
    """A slowdown of about 5 %: how many pairs of rounds find it, and whether a run foretells that.

    A graph of 20 equal layers and one of 21 are measured once in 120 pairs; comparisons of so many
    pairs are then drawn from these. The slowdown that nine of ten find, put on rounds whose own is
    taken out, should be the one that `smallest_change` foretells from the spread alone.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for layers in (20, 21):
            write_layers(folder / f"{layers}.onnx", layers)
        words = ("run", "20.onnx", "21.onnx", "--baseline", "20.onnx", "--runtimes", "ort-cpu")
        graphlap(*words, "--preset", "glance", "--rounds", pairs, "--out", "run", cwd=folder)
        first, second = Rows().measured(read_run(folder / "run"))
    for figure in COMPARED:
        _foretold(first, second, figure)


def _foretold(first_row: MeasuredCase, second_row: MeasuredCase, figure: str) -> None:
    first, second = first_row.by_round(figure), second_row.by_round(figure)
    logs = np.array([math.log(second[n] / first[n]) for n in first if n in second])
    mean, spread = float(logs.mean()), float(logs.std(ddof=1))
    print(f"\n{figure}: slower by {math.expm1(mean):.1%} over {len(logs)} pairs, which spread by "
          f"{spread:.1%}\n")  # fmt: skip
    rng, rows = np.random.default_rng(1), []
    for rounds in (3, 4, 6, 8, 12, 16, 24, 32, 48, 64):
        draws = rng.choice(logs, (500, rounds))
        low, high = 0.0, 5.0
        for _ in range(14):
            middle = (low + high) / 2
            is_found = _power(draws - mean + middle) >= FOUND
            low, high = (low, middle) if is_found else (middle, high)
        foretold = smallest_change(spread / math.sqrt(rounds), rounds - 1)
        rows.append((rounds, f"{_power(draws):.0%}", f"{math.expm1(high):.1%}", f"{foretold:.1%}"))
    write_table(("rounds", "find it", "found by nine of ten", "foretold"), rows)


def _power(draws: np.ndarray) -> float:
    """The share of comparisons, a row each of logarithms of ratios, that say slower."""
    results = (
        difference(np.ones(len(logs)).tolist(), np.exp(logs).tolist(), in_turn=True)
        for logs in draws
    )
    return sum(judge([result])[0].word == "slower" for result in results) / len(draws)


Answer = tuple[bool, str, float, float]
"""Whether B was made slower than A, the word and the ratio of a tool, and the seconds it took."""


def against(tries: int = PAIRS or 20) -> None:
    """Is B 10 % slower than A? Graphlap and what engineers use otherwise, side by side.

    In one half of the tries B is a copy of A, in the other a graph with about 10 % more work, and
    the tools answer in an order that is drawn anew, so that all of them meet the same machine. To
    the loop and benchmark_app B is slower if its median is more than 5 % above A's, to pyperf if
    its mean is and its own test finds that significant, to Graphlap by its verdict on the p50 with
    a threshold of 5 %.

    Graphlap, the loop and pyperf run ONNX Runtime on one thread; benchmark_app runs OpenVINO on
    one. OpenVINO removes pairs of negations, so there the work is softmaxes. How many of each make
    10 % is found once by Graphlap, whose calls have less of Python around them: the others see a
    smaller share.
    """
    tools: dict[str, Callable[[Path, str, str], tuple[str, float]]] = {
        "graphlap": _graphlap, "loop": _loop, "pyperf": _pyperf, "benchmark_app": _benchmark_app
    }  # fmt: skip
    if find_spec("pyperf") is None:
        del tools["pyperf"]
        print("pyperf is left out: it is not installed")
    generator = random.Random(49)
    answers: dict[str, list[Answer]] = {tool: [] for tool in tools}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_slower(folder, "ort-cpu", "Neg", (6, 7, 8))
        _write_slower(folder, "openvino-cpu", "Softmax", (1, 2, 3))
        graphs = ["copy", "more"] * ((tries + 1) // 2)
        for number, graph in enumerate(generator.sample(graphs, tries), start=1):
            for tool in generator.sample(list(tools), len(tools)):
                load, start_s = os.getloadavg()[0], time.monotonic()
                word, ratio = tools[tool](folder, graph, f"{tool}-{number}")
                seconds = time.monotonic() - start_s
                answers[tool].append((graph == "more", word, ratio, seconds))
                print(f"{number} {graph} {tool}: {word} {ratio:.3f}, {seconds:.1f} s, "
                      f"load {load:.1f}", flush=True)  # fmt: skip
    print()
    write_table(
        ("tool", "tries", "wrong on copies", "missed", "undecided", "ratio of copies",
         "of slower ones", "median seconds", "worst seconds"),
        (_judged_tool(tool, given) for tool, given in answers.items()),
    )  # fmt: skip


def _judged_tool(tool: str, answers: Sequence[Answer]) -> Sequence[object]:
    sides = [
        [answer for answer in answers if answer[0] == is_slower] for is_slower in (False, True)
    ]
    wrong = [
        f"{sum((word == 'slower') != is_slower for is_slower, word, _, _ in side)} of {len(side)}"
        for side in sides
    ]
    extents = [
        spread_text([ratio for _, _, ratio, _ in side], 3, "") if side else "none" for side in sides
    ]
    undecided = sum(word == "undecided" for _, word, _, _ in answers)
    seconds = [seconds for *_, seconds in answers]
    times = f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"
    return tool, len(answers), *wrong, undecided, *extents, *times


def _write_slower(folder: Path, runtime: str, node: str, counts: Sequence[int]) -> None:
    """A network as base.onnx, its copy, and more.onnx that takes about 10 % longer."""
    base = _exported(folder / runtime, "mlp")
    ratios = {}
    for count in counts:
        _add_nodes(base, "more", node, count)
        words = ("--metrics", "p50", "--rounds", "6")
        _, (ratios[count], *_) = _compared(base.parent, "more", words, f"with-{count}", runtime)
    nearest = min(counts, key=lambda count: abs(ratios[count] - 1.10))
    _add_nodes(base, "more", node, nearest)
    shutil.copy(base, base.with_name("copy.onnx"))
    print(f"mlp on {runtime}: {nearest} nodes {node} more; ratios by number {ratios}", flush=True)


def _graphlap(folder: Path, graph: str, out: str) -> tuple[str, float]:
    words = ("--metrics", "p50", "--sequential", "--rounds", "16", "--threshold", "5%")
    word, (ratio, *_) = _compared(folder / "ort-cpu", graph, words, out)
    return word, ratio


_LOOP = str(Path(__file__).with_name("ort_loop.py"))


def _loop(folder: Path, graph: str, _: str) -> tuple[str, float]:
    base, other = (
        float(output_of([_LOOP, "loop", str(folder / "ort-cpu" / f"{name}.onnx")]))
        for name in ("base", graph)
    )
    return _judged(other / base)


def _pyperf(folder: Path, graph: str, out: str) -> tuple[str, float]:
    means, results = [], []
    for name in ("base", graph):
        result = folder / f"{out}-{name}.json"
        words = ("--fast", "--quiet", "--copy-env", "--output", str(result))
        output_of([_LOOP, *words, "pyperf", str(folder / "ort-cpu" / f"{name}.onnx")])
        runs = json.loads(result.read_text("utf-8"))["benchmarks"][0]["runs"]
        means.append(statistics.mean(value for run in runs for value in run.get("values", ())))
        results.append(str(result))
    printed = output_of(["-m", "pyperf", "compare_to", "-v", *results])
    word, ratio = _judged(means[1] / means[0])
    return "same" if "Not significant" in printed else word, ratio


def _benchmark_app(folder: Path, graph: str, _: str) -> tuple[str, float]:
    base, other = (
        _benchmark_app_us(folder / "openvino-cpu" / f"{name}.onnx", "x[1,256]", 5)
        for name in ("base", graph)
    )
    return _judged(other / base)


def _judged(ratio: float) -> tuple[str, float]:
    return "slower" if ratio > 1.05 else "same", ratio


def openvino(pairs: int = PAIRS or 31) -> None:
    """Our p50 for `openvino-cpu` beside OpenVINO's own `benchmark_app`, in interleaved pairs.

    Both run the same graph synchronously with one request, one stream, one pinned thread and fp32
    kernels; each side is a fresh process each time.
    """
    print(f"{pairs} interleaved pairs of 2 s, one thread, fp32, p50 in us; ratio's 95 % interval\n")
    rows = []
    for name in ("mlp", "cnn_med", "char_cnn"):
        model = export(name)
        ours = partial(p50_us, model, "openvino-cpu", LIMITS)
        our_us, their_us = interleaved(pairs, ours, partial(_theirs_us, model))
        medians = (f"{statistics.median(values):.2f}" for values in (our_us, their_us))
        rows.append((name, *medians, ratio_text(our_us, their_us)))
    write_table(("model", "graphlap", "theirs", "ratio"), rows)


def _theirs_us(model: ExportedModel) -> float:
    shapes = (f"{x.name}[{','.join(map(str, x.shape_at(BATCH_1)))}]" for x in model.inputs)
    return _benchmark_app_us(Path(model.path), ",".join(shapes), 2)


def _benchmark_app_us(path: Path, shapes: str, seconds: int) -> float:
    """The median that OpenVINO's program prints of a model, run one at a time on one thread."""
    # The package reports each use over the network unless it is told not to, or is not there.
    code = (
        "import os, sys; os.environ['CI'] = 'true'; sys.modules['openvino_telemetry'] = None; "
        "from openvino.tools.benchmark.main import main; sys.exit(main())"
    )
    words = f"-d CPU -api sync -hint none -nthreads 1 -nstreams 1 -nireq 1 -pin YES -t {seconds}"
    arguments = [*words.split(), "-infer_precision", "f32", "-shape", shapes, "-m", str(path)]
    output = output_of(["-c", code, *arguments])
    match = re.search(r"Median:\s+([\d.]+) (us|ms)", output)
    if match is None:
        raise RuntimeError(f"benchmark_app printed no median:\n{output[-2000:]}")
    return float(match[1]) * (1.0 if match[2] == "us" else 1e3)
