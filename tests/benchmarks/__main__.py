"""`python -m tests.benchmarks [NAME ...]`: every benchmark, or those named.

`--against REVISION` lets `reading` run the commands of another git revision in turn with ours.
`--write` also renews the tables that pages have of these benchmarks (`tables.py`).
"""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module

from tests.benchmarks import tables

_MODULES = {
    "comparisons": ("against", "gate", "openvino", "pages", "slices", "slowdown", "turns"),
    "costs": ("export", "fpga", "share", "start"),
    "coverage": (
        *("capacity", "clock", "intervals", "queueing", "spread", "stopping", "stretches"),
        "tuner",
    ),
    "gui": ("gui_acts", "gui_pairs", "gui_window"),
    "large_runs": ("reading", "scale"),
    "loops": ("lanes", "loop", "open_loop"),
    "public_shapes": ("public_shapes",),
    "verdicts": (
        "aa",
        "apart",
        "changes",
        "noticed",
        "power",
        "sequential",
        "sets",
        "wandering",
    ),
}
BENCHMARKS = {name: module for module, names in _MODULES.items() for name in names}
"""By name the module whose function it is, which is imported where it is run."""


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
        benchmark = getattr(import_module(f"tests.benchmarks.{BENCHMARKS[name]}"), name)
        print(f"\n== {name}\n{benchmark.__doc__}\n", flush=True)
        if options.against:
            benchmark = partial(benchmark, options.against)
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
