"""Hold the writing rules: `python -m tests.writing`.

Without an argument: the number of offenders in each folder and page against its allowance; exit
code 1 if one has more. An allowance may only go down: lower it when the count is lower. A kind of
offender, with parts of paths or without, prints each with its place and what to write instead:

    python -m tests.writing pages docs/load.md
    python -m tests.writing messages
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.checkout import ROOT
from tests.writing.sentences import Offender, in_messages, in_page

ALLOWANCES = Path(__file__).with_name("allowances.toml")
PRODUCT = ("app", "exporters", "runtimes")
KINDS = ("messages", "pages")
RECORDS = ("CHANGELOG.md",)
"""What was written at its time, and stays."""


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        return _compare()
    kind, *parts = arguments
    if kind not in KINDS:
        print(f"usage: python -m tests.writing [{'|'.join(KINDS)} [PART_OF_A_PATH ...]]")
        return 2
    for offender in offenders(kind):
        if not parts or any(part in offender.file for part in parts):
            print(f"{offender.file}:{offender.line}: {offender.text!r}: {offender.reason}")
    return 0


def offenders(kind: str) -> Iterator[Offender]:
    """In the files that git tracks, in the order of their paths."""
    process = subprocess.run(
        ["git", "ls-files", "*.py", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for file in sorted(process.stdout.splitlines()):
        path, top = ROOT / file, file.partition("/")[0]
        if not path.is_file() or file in RECORDS:
            continue
        if file.endswith(".md"):
            if kind == "pages" and (top == "docs" or "/" not in file):
                yield from in_page(file, path.read_text("utf-8"))
        elif kind == "messages" and top in PRODUCT:
            yield from in_messages(file, path.read_text("utf-8"))


def folder(file: str) -> str:
    """What an allowance is for: a page, or a package of the product."""
    top, *rest = file.split("/")
    if file.endswith(".md"):
        return file
    return f"{top}/{rest[0]}" if top in PRODUCT and len(rest) > 1 else top


def excesses(counts: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Folders with more offenders than allowed, and how many more; no entry allows none."""
    for name, count in sorted(counts.items()):
        if count > limits.get(name, 0):
            yield name, count - limits.get(name, 0)


def _compare() -> int:
    allowances = tomllib.loads(ALLOWANCES.read_text("utf-8"))
    code = 0
    for kind in KINDS:
        counts = Counter(folder(offender.file) for offender in offenders(kind))
        limits = allowances[kind]
        print(f"{kind}: {counts.total()} against the rules, {sum(limits.values())} allowed")
        for name, more in excesses(counts, limits):
            print(f"  {name}: {more} too many; python -m tests.writing {kind} {name} lists them")
            code = 1
        for name in sorted(limits):
            if counts[name] < limits[name]:
                print(f"  {name}: lower its allowance of {limits[name]} to {counts[name]}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
