"""`make fuzz`: the property tests with fresh draws, pass after pass, for FUZZ_MINUTES.

A pass has a seed of its own, counted up from FUZZ_SEED; a failing one is repeated by
`make fuzz FUZZ_MINUTES=0 FUZZ_SEED=…`. At the same time the differential fuzzers compare our
evaluator, the simulated card and the precision conversions with ONNX Runtime on random graphs;
their tables are printed last.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.parallel import on_all_cores

MINUTES = 5.0
DIFFERENTIAL = ("tests.differential", "tests.differential_lowered")


def main() -> int:
    minutes = float(os.environ.get("FUZZ_MINUTES") or MINUTES)
    first = int(os.environ.get("FUZZ_SEED") or time.time_ns() % 10**9)
    end = time.monotonic() + minutes * 60
    with ExitStack() as stack:
        tables = {
            name: stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            for name in DIFFERENTIAL
        }
        limits = (f"--minutes={minutes}", f"--seed={first}")
        running = [
            subprocess.Popen([sys.executable, "-m", name, *limits], stdout=table)
            for name, table in tables.items()
        ]
        try:
            codes = [passes(first, end)]
        finally:
            if sys.exc_info()[0] is not None:
                for process in running:
                    process.kill()
            exit_codes = [process.wait() for process in running]
            for name, table in tables.items():
                table.seek(0)
                sys.stdout.write(f"\n{name}\n{table.read()}")
    return max(map(abs, (*codes, *exit_codes)))


def passes(first: int, end: float) -> int:
    """Property tests until the end; the exit code of the first pass that fails, else 0."""
    longest_s = 0.0
    seed = first
    while seed == first or time.monotonic() + longest_s < end:
        sys.stdout.write(f"FUZZ_SEED={seed}\n")
        sys.stdout.flush()
        start_s = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", *on_all_cores()]
        draws = ("--hypothesis-profile=fresh", f"--hypothesis-seed={seed}")
        code = subprocess.run([*command, *draws, *with_properties()], check=False).returncode
        if code:
            return code
        longest_s = max(longest_s, time.monotonic() - start_s)
        seed += 1
    sys.stdout.write(f"{seed - first} passes, seeds {first} to {seed - 1}\n")
    return 0


def with_properties() -> list[str]:
    """The files that a pass must read: those that draw."""
    tests = sorted(Path(__file__).parent.rglob("test_*.py"))
    return [str(path) for path in tests if "from hypothesis import" in path.read_text("utf-8")]


if __name__ == "__main__":
    sys.exit(main())
