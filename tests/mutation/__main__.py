"""`make mutants`: small defects put into the product one at a time, and which the fast tests find.

A mutant is a source file with one comparison, operator, constant, condition or statement changed
(`sites.py`). So many are drawn by seed in equal shares from statistics, comparison, the run folder
and cases, of lines that some fast test runs, and tests that run the line are tried until one fails:
those of the package's own folder first, the quickest before the others. What survives is listed,
with the reason if `survivors.toml` has one. Exit code 1 if fewer than the asked share are found.

`--changed COMMITS` draws 20 from the lines that the last commits changed, and tries the tests of
the changed packages' folders. Exit code 1 if more than 15 % of them survive without a reason, which
is 3 of 20, and more than one. Exit code 0 where the checkout has no such commits.
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
from tests.mutation.covering import Covering, covering_tests
from tests.mutation.reasons import reason_of, stale_reasons
from tests.mutation.sites import Mutant, mutants_of, root_path
from tests.mutation.trial import FOUND, Outcome, outcomes

PACKAGES = ("app/stats", "app/analysis/comparison", "app/run_folder", "app/cases")
COUNT, COUNT_CHANGED = 400, 20
LEAST_SHARE = 0.85
TESTS_S = 20.0
"""The tests that a mutant may survive took no longer together while they were traced."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, metavar="N", help="(400, or 20 with --changed)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--share", type=float, default=LEAST_SHARE, metavar="X", help="found at least"
    )
    parser.add_argument(
        "--changed", type=int, metavar="COMMITS", help="only lines of the last ones"
    )
    flags = parser.parse_args(arguments)
    if stale := stale_reasons():
        print("\n".join(f"survivors.toml: no such mutant any more: {known}" for known in stale))
        return 2
    start_s = time.monotonic()
    if flags.changed is not None and not has_commit(f"HEAD~{flags.changed}"):
        print(f"passed over: this checkout has no HEAD~{flags.changed}, as one of few commits")
        return 0
    changed = None if flags.changed is None else changed_lines(flags.changed)
    if changed is not None and not changed:
        print("no line of these packages was changed")
        return 0
    packages = [p for p in PACKAGES if changed is None or any(f.startswith(p) for f in changed)]
    folders = ["tests"] if changed is None else [f"tests/{package}" for package in packages]
    covering = covering_tests(PACKAGES, folders)
    print(f"tests of {len(covering.files)} files after {seconds(start_s)}", flush=True)
    count = flags.count or (COUNT if changed is None else COUNT_CHANGED)
    work = drawn(covering, packages, count, flags.seed, changed)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = scratch
        results = outcomes(work, told)
    found, without_reason = summary(results)
    print(f"in {seconds(start_s)}")
    if changed is None:
        return int(found < flags.share * len(results))
    return int(without_reason > max(1, (1 - flags.share) * len(results)))


def drawn(
    covering: Covering,
    packages: Sequence[str],
    count: int,
    seed: int,
    changed: Mapping[str, Collection[int]] | None,
) -> list[tuple[Mutant, tuple[str, ...]]]:
    """Equal shares of the packages, as far as they have so many, with the tests of each."""
    draw = random.Random(seed)
    chosen: list[tuple[Mutant, tuple[str, ...]]] = []
    for number, package in enumerate(packages):
        mutants = [
            (mutant, tests)
            for file in sorted(ROOT.joinpath(package).rglob("*.py"))
            for mutant in mutants_of(file)
            if changed is None or mutant.line in changed.get(root_path(file), ())
            if (tests := covering.tests(root_path(file), mutant.line, TESTS_S))
        ]
        share = (count - len(chosen)) // (len(packages) - number)
        chosen += draw.sample(mutants, min(share, len(mutants)))
    return chosen


def has_commit(name: str) -> bool:
    """Whether the checkout, which may be shallow, has it."""
    command = ["git", "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def changed_lines(commits: int) -> dict[str, set[int]]:
    """The lines of these packages, as they stand, that the last commits wrote."""
    command = ["git", "diff", "--unified=0", f"HEAD~{commits}", "--", *PACKAGES]
    found = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    lines: dict[str, set[int]] = defaultdict(set)
    name = ""
    for line in found.stdout.splitlines():
        if line.startswith("+++ "):
            name = line.removeprefix("+++ b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            lines[name] |= set(range(first, first + count))
    return {name: numbers for name, numbers in lines.items() if numbers}


def told(mutant: Mutant, outcome: Outcome) -> None:
    """Print what wasn't found."""
    if outcome.name != FOUND:
        place = f"{root_path(mutant.file)}:{mutant.line}"
        reason = reason_of(mutant)
        print(f"{outcome.name}: {place} {mutant.before} -> {mutant.after}")
        print(f"    {mutant.text}")
        if reason:
            print(f"    {reason}")


def summary(results: Mapping[Mutant, Outcome]) -> tuple[int, int]:
    """Print the counts; how many were found, and how many survived without a reason."""
    counts, found = Counter[str](), Counter[str]()
    reasons = 0
    for mutant, outcome in results.items():
        package = next(p for p in PACKAGES if root_path(mutant.file).startswith(f"{p}/"))
        counts[package] += 1
        found[package] += outcome.name == FOUND
        reasons += outcome.name != FOUND and bool(reason_of(mutant))
    for package, count in counts.items():
        print(f"{package}: {found[package]} of {count} found")
    survivors = len(results) - found.total()
    share = found.total() / max(len(results), 1)
    print(f"{found.total()} of {len(results)} found ({share:.1%}), ", end="")
    print(f"{survivors} not, {reasons} of them with a reason")
    return found.total(), survivors - reasons


def seconds(start_s: float) -> str:
    return f"{time.monotonic() - start_s:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
