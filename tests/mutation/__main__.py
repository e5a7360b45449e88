"""`make mutants`: small defects put into the product one at a time, and which the fast tests find.

A mutant is a source file with one comparison, operator, constant, condition or statement changed
(`sites.py`). So many are drawn by seed in equal shares from statistics, comparison, the run folder
and cases, of lines that some fast test runs, and the tests that run the line are tried. Exit code 1
if fewer than the asked share are found. `--changed COMMITS` draws from the lines that the last
commits changed, and tries the tests of their own folders alone. What survives is
listed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from tests.checkout import ROOT
from tests.mutation.covering import Lines, covering_tests
from tests.mutation.sites import Mutant, mutants_of
from tests.mutation.trial import FOUND, outcomes, root_path, seconds

PACKAGES = ("app/stats", "app/comparison", "app/run_folder", "app/cases")
MOST_TESTS = 40
"""Of a line that more tests run, those that run the fewest lines beside it."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=400, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--share", type=float, default=0.85, metavar="X", help="found at least")
    parser.add_argument(
        "--changed", type=int, metavar="COMMITS", help="only lines of the last ones"
    )
    flags = parser.parse_args(arguments)
    start_s = time.monotonic()
    changed = None if flags.changed is None else changed_lines(flags.changed)
    if changed is not None and not changed:
        print("no line of these packages was changed")
        return 0
    packages = [p for p in PACKAGES if changed is None or any(f.startswith(p) for f in changed)]
    folders = ["tests"] if changed is None else [f"tests/{package}" for package in packages]
    lines = covering_tests(packages, folders)
    print(f"tests of {len(lines)} files after {seconds(start_s)}", flush=True)
    chosen = drawn(lines, packages, flags.count, flags.seed, changed)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = scratch
        work = [
            (mutant, lines[root_path(mutant.file)][mutant.line][:MOST_TESTS]) for mutant in chosen
        ]
        results = dict(outcomes(work))
    return told(results, flags.share, start_s)


def drawn(
    lines: Lines,
    packages: Sequence[str],
    count: int,
    seed: int,
    changed: Mapping[str, Collection[int]] | None,
) -> list[Mutant]:
    """Equal shares of the packages, as far as they have so many."""
    draw = random.Random(seed)
    chosen: list[Mutant] = []
    for number, package in enumerate(packages):
        mutants = [
            mutant
            for file in sorted(ROOT.joinpath(package).rglob("*.py"))
            for mutant in mutants_of(file)
            if lines.get(name := root_path(file), {}).get(mutant.line)
            and (changed is None or mutant.line in changed.get(name, ()))
        ]
        share = (count - len(chosen)) // (len(packages) - number)
        chosen += draw.sample(mutants, min(share, len(mutants)))
    return chosen


def changed_lines(commits: int) -> dict[str, set[int]]:
    """The lines of these packages, as they stand, that the last commits wrote; none where there is
    no history."""
    command = ["git", "diff", "--unified=0", f"HEAD~{commits}", "--", *PACKAGES]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines: dict[str, set[int]] = defaultdict(set)
    name = ""
    for line in found.stdout.splitlines():
        if line.startswith("+++ "):
            name = line.removeprefix("+++ b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            lines[name] |= set(range(first, first + count))
    return {name: numbers for name, numbers in lines.items() if numbers}


def told(results: Mapping[Mutant, str], share: float, start_s: float) -> int:
    """Print what was found; the exit code."""
    packages, found = Counter[str](), Counter[str]()
    for mutant, outcome in results.items():
        package = "/".join(root_path(mutant.file).split("/")[:2])
        packages[package] += 1
        found[package] += outcome == FOUND
        if outcome != FOUND:
            change = f"{mutant.before} -> {mutant.after}"
            print(f"{outcome}: {root_path(mutant.file)}:{mutant.line} {change}")
    for package, count in packages.items():
        print(f"{package}: {found[package]} of {count} found")
    total = found.total() / max(len(results), 1)
    print(f"{found.total()} of {len(results)} found ({total:.0%}) in {seconds(start_s)}")
    return int(total < share)


if __name__ == "__main__":
    sys.exit(main())
