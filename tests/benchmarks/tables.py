"""Tables of benchmarks, printed and in pages: `python -m tests.benchmarks --write NAME ...`.

A page has the table between two comments, the first table of `aa` between
`<!-- benchmark: aa 1 -->` and `<!-- end of benchmark: aa 1 -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from pathlib import Path

from tests.checkout import ROOT

PAGES = ROOT / "docs"
_TABLE_BLOCK = re.compile(
    r"<!-- benchmark: (\w+) (\d+) -->\n(.*?)<!-- end of benchmark: \1 \2 -->\n", re.DOTALL
)


def write_table(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table, each row as soon as it is known."""
    rule = ["---"] * len(heads)
    for row in chain([heads, rule], rows):
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def percent(shares: Iterable[float], digits: int = 0) -> str:
    """Shares of a cell in percent, without the sign."""
    return ", ".join(f"{100 * share:.{digits}f}" for share in shares)


def tables_in(output: str) -> list[str]:
    """The Markdown tables of what a benchmark printed, in their order."""
    groups = groupby(output.splitlines(), key=lambda line: line.startswith("|"))
    return ["".join(f"{line}\n" for line in lines) for is_table, lines in groups if is_table]


def benchmarks_of(page: str) -> set[str]:
    """The benchmarks whose tables this text has."""
    return {match[1] for match in _TABLE_BLOCK.finditer(page)}


def with_tables(page: str, name: str, tables: list[str]) -> str:
    """The text with these tables of one benchmark; ValueError for the number of no table."""

    def table(match: re.Match[str]) -> str:
        if match[1] != name:
            return match[0]
        number = int(match[2])
        if not 1 <= number <= len(tables):
            raise ValueError(f"{name}: no table {number} (it prints {len(tables)})")
        head, end = (f"<!-- {words}benchmark: {name} {number} -->\n" for words in ("", "end of "))
        return head + tables[number - 1] + end

    return _TABLE_BLOCK.sub(table, page)


def write(name: str, output: str, folder: Path = PAGES) -> list[Path]:
    """Renew the tables of one benchmark in all pages; the pages that changed."""
    paths = []
    for path in sorted(folder.glob("*.md")):
        page = path.read_text("utf-8")
        new_page = with_tables(page, name, tables_in(output))
        if new_page != page:
            path.write_text(new_page, "utf-8")
            paths.append(path)
    return paths
