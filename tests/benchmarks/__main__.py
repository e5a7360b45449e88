"""`python -m tests.benchmarks [NAME ...]`: every `bench_NAME.py` here, or those named.

`--against REVISION` lets `reading` run the commands of another git revision in turn with ours.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

_COMPARED = "reading"


def main(arguments: list[str]) -> None:
    parser = ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--against", metavar="REVISION", default="")
    options = parser.parse_args(arguments)
    names: list[str] = options.names
    if options.against and names != [_COMPARED]:
        sys.exit(f"--against REVISION is of the benchmark {_COMPARED} alone: name that")
    known = sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; known are {', '.join(known)}")
    for name in names or known:
        sys.stdout.write(f"\n== {name}\n")
        sys.stdout.flush()
        more = (options.against,) if options.against else ()
        import_module(f"tests.benchmarks.bench_{name}").main(*more)


if __name__ == "__main__":
    main(sys.argv[1:])
