"""`python -m tests.soak [mutants kills endurance window]`: all or some, within SOAK_MINUTES (10).

Each part has its share of the time and draws from SOAK_SEED (1), which it says. What does not hold
is an AssertionError that says what was lost.
"""

from __future__ import annotations

import os
import sys

from tests.soak import endurance, kills, mutants, window

MINUTES = 10.0
PARTS = {
    "mutants": (mutants.main, 0.2),
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
