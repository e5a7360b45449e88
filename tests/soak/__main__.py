"""`python -m tests.soak [mutants kills endurance window]`: all or some, within SOAK_MINUTES (10).

Each part has its share of the time and draws from SOAK_SEED (1), which it says. What does not hold
is an AssertionError that says what was lost.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from tests.app.cli.headless.mutant_runs import measured
from tests.mutants import mutants
from tests.soak import endurance, kills, window

MINUTES = 10.0
AT_ONCE = 50


def damage(seed: int, minutes: float) -> None:
    """Damaged files by the hundred through the batch mode, a folder of them at a time.

    SOAK_MUTANTS (700) files are measured on SOAK_RUNTIMES (ort-cpu). What fails is an error of the
    parent, or a file without a row and its reason. Ends before the next folder once its `minutes`
    are over.
    """
    count = int(os.environ.get("SOAK_MUTANTS") or 700)
    runtimes = os.environ.get("SOAK_RUNTIMES") or "ort-cpu"
    start_s, counts = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["GRAPHLAP_CACHE"] = f"{scratch}/cache"
        for number, first in enumerate(range(0, count, AT_ONCE)):
            if time.monotonic() - start_s > minutes * 60:
                count = first
                break
            folder = Path(scratch) / f"nets{number}"
            folder.mkdir()
            paths = mutants(folder, min(AT_ONCE, count - first), seed + number)
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                counts += measured(paths, Path(scratch) / f"run{number}", runtimes)
            sys.stdout.write(f"mutants of seed {seed + number}: {kills.told(counts)}\n")
            sys.stdout.flush()
    taken_min = (time.monotonic() - start_s) / 60
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"{count} mutants, {counts.total()} rows in {taken_min:.1f} min: {kills.told(counts)}; "
        f"the parent held {peak_mib:.0f} MiB\n"
    )


PARTS = {
    "mutants": (damage, 0.2),
    "kills": (kills.main, 0.55),
    "endurance": (endurance.main, 0.25),
    "window": (window.main, 0.5),
}


def main(names: list[str]) -> int:
    unknown_names = [name for name in names if name not in PARTS]
    if unknown_names:
        sys.exit(f"no part {', '.join(unknown_names)}; known are {', '.join(PARTS)}")
    minutes = float(os.environ.get("SOAK_MINUTES") or MINUTES)
    seed = int(os.environ.get("SOAK_SEED") or 1)
    chosen_parts = {name: PARTS[name] for name in names or PARTS}
    shares = sum(share for _, share in chosen_parts.values())
    for name, (part, share) in chosen_parts.items():
        sys.stdout.write(f"\n== {name}, SOAK_SEED={seed}\n")
        sys.stdout.flush()
        part(seed, minutes * share / shares)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
