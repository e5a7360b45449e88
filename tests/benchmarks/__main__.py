"""`python -m tests.benchmarks [NAME ...]`: every `bench_NAME.py` here, or those named."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main(names: list[str]) -> None:
    known = sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; known are {', '.join(known)}")
    for name in names or known:
        sys.stdout.write(f"\n== {name}\n")
        sys.stdout.flush()
        import_module(f"tests.benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
