"""`python -m tests.benchmarks [NAME ...]`: every `bench_NAME.py` here, or those named.

`--against REVISION` lets `reading` run the commands of another git revision in turn with ours.
`--write` also renews the tables that pages have of these benchmarks (`tables.py`).
"""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

from tests.benchmarks import tables

_COMPARED_BENCHMARK = "reading"


def main(arguments: list[str]) -> None:
    parser = ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--against", metavar="REVISION", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    names: list[str] = options.names
    if options.against and names != [_COMPARED_BENCHMARK]:
        sys.exit(f"--against REVISION is of the benchmark {_COMPARED_BENCHMARK} alone: name that")
    known_names = sorted(
        p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py")
    )
    unknown_names = [name for name in names if name not in known_names]
    if unknown_names:
        sys.exit(f"no benchmark {', '.join(unknown_names)}; known are {', '.join(known_names)}")
    for name in names or known_names:
        sys.stdout.write(f"\n== {name}\n")
        sys.stdout.flush()
        more = (options.against,) if options.against else ()
        benchmark = import_module(f"tests.benchmarks.bench_{name}").main
        if not options.write:
            benchmark(*more)
            continue
        output = io.StringIO()
        with redirect_stdout(output):
            benchmark(*more)
        sys.stdout.write(output.getvalue())
        for path in tables.write(name, output.getvalue()):
            sys.stdout.write(f"renewed {path.name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
