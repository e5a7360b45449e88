"""The size of the product by folder, and of each group: `python -m tests.size`.

A code line holds a token that is no comment and no docstring; blank lines hold none. In C it is a
line that is neither blank nor all comment. Empty files count as files, but not for the median. All
figures but files are in code lines. Every .py and .c file of the checkout is in one group.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.checkout import ROOT

PRODUCT = ("app", "exporters", "runtimes")
_EXAMPLES = "assets/examples"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
LONG_FILE, LONGEST_FILE, LONG_FUNCTION = 400, 600, 80
_BLANK = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


@dataclass(frozen=True)
class Size:
    lines: int
    import_lines: int
    functions: tuple[int, ...]


def measure(source: str) -> Size:
    """The code lines of a file, of its import statements, and of each function."""
    tree = ast.parse(source)
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _BLANK
        for line in range(token.start[0], token.end[0] + 1)
    }
    imports, functions = set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                code -= _span(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports |= _span(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(_span(node))
    return Size(len(code), len(code & imports), tuple(len(code & lines) for lines in functions))


def _span(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def report(sizes: Iterable[tuple[str, Size]]) -> Iterator[str]:
    """A table with a line for each folder, then one for all; `sizes` has paths from the root."""
    folders = defaultdict(list)
    for path, size in sizes:
        parts = path.split("/")
        folders["/".join(parts[:2]) if len(parts) > 2 else parts[0]].append(size)
    yield (
        f"{'folder':24}{'files':>7}{'lines':>8}{'imports':>9}{'median':>8}{'longest':>9}"
        f"{f'>{LONG_FILE}':>6}{f'>{LONGEST_FILE}':>6}{'function':>10}{f'>{LONG_FUNCTION}':>5}"
    )
    for name, folder in sorted(folders.items()):
        yield _row(name, folder)
    yield _row("all", [size for folder in folders.values() for size in folder])


def _row(name: str, sizes: list[Size]) -> str:
    lines = [size.lines for size in sizes]
    functions = [count for size in sizes for count in size.functions]
    total, imports = sum(lines), sum(size.import_lines for size in sizes)
    share = 100 * imports / total if total else 0
    median = statistics.median([count for count in lines if count] or [0])
    return (
        f"{name:24}{len(sizes):7}{total:8}{share:7.1f} %{median:8.0f}{max(lines):9}"
        f"{_count_over(lines, LONG_FILE):6}{_count_over(lines, LONGEST_FILE):6}"
        f"{max(functions, default=0):10}{_count_over(functions, LONG_FUNCTION):5}"
    )


def _count_over(counts: list[int], limit: int) -> int:
    return sum(count > limit for count in counts)


def files(root: Path) -> Iterator[tuple[str, Size]]:
    """Every Python and C file that git knows or would add, by its path from `root`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.c"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    for name in sorted(set(listed.splitlines())):
        if (path := root / name).is_file():
            source = path.read_text("utf-8")
            yield name, measure(source) if name.endswith(".py") else Size(c_lines(source), 0, ())


def c_lines(source: str) -> int:
    """The lines of a C file that are not blank without its comments."""
    return sum(bool(line.strip()) for line in _COMMENT.sub("", source).splitlines())


def group_of(path: str) -> str:
    """Which of product, tests, benchmarks and examples a file belongs to."""
    if path.startswith("tests/"):
        return "benchmarks" if path.startswith("tests/benchmarks/") else "tests"
    return "examples" if path.startswith(f"{_EXAMPLES}/") else "product"


def groups(sizes: Iterable[tuple[str, Size]]) -> Iterator[str]:
    """A line for each group with its files and lines."""
    found = defaultdict(list)
    for path, size in sizes:
        found[group_of(path)].append(size.lines)
    for name in ("product", "tests", "benchmarks", "examples"):
        yield f"{name:24}{len(found[name]):7}{sum(found[name]):8}"


if __name__ == "__main__":
    measured = list(files(ROOT))
    folders = [entry for entry in measured if entry[0].partition("/")[0] in PRODUCT]
    lines = [*report(folders), "", *groups(measured)]
    sys.stdout.writelines(f"{line}\n" for line in lines)
