"""`python -m tests.benchmarks gate`: pairs of short runs on a machine with other work.

Runs of the same code at loads 0, 2, 6 and 12 in mixed combinations must not end a gate with exit
code 3; a network with 30 % more layers is to be found slower in 18 of 20 pairs at loads 0 and 2.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice, product
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.checkout import ROOT

LOADS = (0, 2, 6, 12)
PAIRS = 20
_WIDTH = 256
_APP = (sys.executable, "-m", "app")
_SETTLE_S = 5.0
"""Until other work runs on every core."""
_FALLEN = 1.0
"""A load of the last minute that holds no more of the work before."""


def main(pairs: int = PAIRS) -> None:
    mixed = [loads for loads in product(LOADS, LOADS) if loads[0] != loads[1]]
    quiet = [(0, 0), (0, 2), (2, 0), (2, 2)]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name, layers in (("old", 10), ("new", 13)):
            (scratch / name).mkdir()
            onnx.save(_dense(layers), scratch / name / "net.onnx")
        for title, second, combinations in (
            ("same code, mixed loads", "old", mixed),
            ("30 % more layers, loads 0 and 2", "new", quiet),
        ):
            while os.getloadavg()[0] > _FALLEN:
                time.sleep(_SETTLE_S)
            codes: Counter[int] = Counter()
            for number, loads in enumerate(islice(cycle(combinations), pairs)):
                # Runs that lie beside these would be taken for the machine's history.
                runs = [scratch / f"{second}-{number}" / name for name in ("first", "second")]
                for run, load, model in zip(runs, loads, ("old", second), strict=True):
                    with _other_work(load):
                        _measure(scratch / model, run)
                code = _call(scratch, "compare", *map(str, runs), "--fail-on", "slower")
                codes[code] += 1
                sys.stdout.write(f"{title}: loads {loads[0]} and {loads[1]}: exit {code}\n")
                sys.stdout.flush()
            sys.stdout.write(f"{title}: {dict(sorted(codes.items()))} of {pairs}\n")


def _dense(layers: int) -> onnx.ModelProto:
    weights = np.random.default_rng(0).normal(0, 1 / 16, (layers, _WIDTH, _WIDTH))
    names = ["x", *(f"h{place}" for place in range(1, layers)), "y"]
    nodes = [
        helper.make_node("MatMul", [names[place], f"w{place}"], [names[place + 1]])
        for place in range(layers)
    ]
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [8, _WIDTH])
        for name in ("x", "y")
    )
    constants = [
        numpy_helper.from_array(w.astype(np.float32), f"w{place}")
        for place, w in enumerate(weights)
    ]
    graph = helper.make_graph(nodes, "dense", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def _measure(folder: Path, run: Path) -> None:
    words = ("run", "net.onnx", "--runtimes", "ort-cpu", "--preset", "quick", "--rounds", "8")
    code = _call(folder, *words, "--quiet", "--out", str(run))
    if code:
        raise SystemExit(f"a run ended with exit code {code}")


def _call(folder: Path, *words: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [*_APP, *words], cwd=folder, env=environment, capture_output=True, check=False
    )
    return process.returncode


@contextmanager
def _other_work(processes: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        time.sleep(_SETTLE_S if busy else 0.0)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
