"""`python -m tests.benchmarks [NAME ...]`: every benchmark, or those named.

`--against REVISION` lets `reading` run the commands of another git revision in turn with ours.
`--write` also renews the tables that pages have of these benchmarks (`tables.py`).
"""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial

from tests.benchmarks import (
    comparisons,
    costs,
    coverage,
    gui,
    loops,
    public_shapes,
    tables,
    verdicts,
)

BENCHMARKS: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        verdicts.aa,
        comparisons.against,
        verdicts.apart,
        coverage.capacity,
        verdicts.changes,
        costs.export,
        costs.fpga,
        comparisons.gate,
        gui.gui_acts,
        gui.gui_pairs,
        gui.gui_window,
        coverage.intervals,
        loops.lanes,
        loops.loop,
        verdicts.noticed,
        loops.open_loop,
        comparisons.openvino,
        verdicts.power,
        public_shapes.public_shapes,
        coverage.queueing,
        costs.reading,
        costs.scale,
        verdicts.sequential,
        verdicts.sets,
        costs.share,
        comparisons.slices,
        comparisons.slowdown,
        coverage.spread,
        costs.start,
        coverage.stopping,
        coverage.stretches,
        coverage.tuner,
        comparisons.turns,
        verdicts.wandering,
    )
}


def main(arguments: list[str]) -> None:
    parser = ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--against", metavar="REVISION", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    names: list[str] = options.names
    if options.against and names != ["reading"]:
        sys.exit("--against REVISION is of the benchmark reading alone: name that")
    unknown_names = [name for name in names if name not in BENCHMARKS]
    if unknown_names:
        sys.exit(f"no benchmark {', '.join(unknown_names)}; known are {', '.join(BENCHMARKS)}")
    for name in names or BENCHMARKS:
        print(f"\n== {name}\n{BENCHMARKS[name].__doc__}\n", flush=True)
        benchmark = BENCHMARKS[name]
        if options.against:
            benchmark = partial(costs.reading, options.against)
        if not options.write:
            benchmark()
            continue
        output = io.StringIO()
        with redirect_stdout(output):
            benchmark()
        print(output.getvalue())
        for path in tables.write(name, output.getvalue()):
            print(f"renewed {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
