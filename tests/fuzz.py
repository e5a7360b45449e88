"""`make fuzz`: the property tests with fresh draws, pass after pass, for FUZZ_MINUTES.

A pass has a seed of its own, counted up from FUZZ_SEED; a failing one is repeated by
`make fuzz FUZZ_MINUTES=0 FUZZ_SEED=…`. At the same time the differential fuzzer compares the
simulated card and the precision conversions with ONNX Runtime on random graphs; its verdicts are
printed last.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.parallel import on_all_cores

MINUTES = 5.0
DIFFERENTIAL = "tests.differential_lowered"


def main() -> int:
    minutes = float(os.environ.get("FUZZ_MINUTES") or MINUTES)
    first = int(os.environ.get("FUZZ_SEED") or time.time_ns() % 10**9)
    end = time.monotonic() + minutes * 60
    limits = (f"--minutes={minutes}", f"--seed={first}")
    with tempfile.TemporaryFile("w+", encoding="utf-8") as table:
        fuzzer = subprocess.Popen([sys.executable, "-m", DIFFERENTIAL, *limits], stdout=table)
        try:
            code = passes(first, end)
        except BaseException:
            fuzzer.kill()
            raise
        finally:
            fuzzer_code = fuzzer.wait()
            table.seek(0)
            sys.stdout.write(f"\n{DIFFERENTIAL}\n{table.read()}")
    return max(abs(code), abs(fuzzer_code))


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
