"""The glossary, the page of faults and the tables of benchmarks name what is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from app.cases.columns import BY_NAME as COLUMNS
from app.commands.parsers import parser_of
from app.commands.table import BY_NAME as COMMANDS
from tests.benchmarks.tables import PAGES, benchmarks_of, tables_in, with_tables, write
from tests.checkout import ROOT

PAGE = ROOT / "docs" / "README.md"


ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", PAGE.read_text("utf-8"), re.MULTILINE)


ENTRIES = [row for row in ROWS if row[0] != "word" and "---" not in row[0]]


@cache
def options() -> frozenset[str]:
    """Of all commands."""
    parsers = (parser_of(command) for command in COMMANDS.values())
    return frozenset(name for parser in parsers for name in parser._option_string_actions)


def test_each_word_has_one_entry() -> None:
    words = [word for word, _, _ in ENTRIES]
    assert len(words) > 40
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("place", {row[2]: None for row in ENTRIES})
def test_an_entry_refers_to_what_exists(place: str) -> None:
    for name in re.findall(r"`([^`]+)`", place):
        if name.startswith("--"):
            assert name in options()
        elif name.startswith("graphlap "):
            assert name.split()[1] in COMMANDS
        elif re.fullmatch(r"[a-z0-9_]+", name) and name != "closed_loop":
            assert name in COLUMNS


FAULTS_PAGE = ROOT / "docs" / "faults.md"


def test_each_fault_names_a_test_that_is_there() -> None:
    test_names = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", FAULTS_PAGE.read_text("utf-8"))
    assert len(test_names) > 25
    for path, name in test_names:
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{path}::{name}"


def test_each_line_of_a_table_says_who_tries_it() -> None:
    lines = [line for line in FAULTS_PAGE.read_text("utf-8").splitlines() if line.count("|") == 4]
    rows = [line for line in lines if not re.match(r"\| (fault|---)", line)]
    assert all("::test_" in line or "| the same" in line for line in rows)


OUTPUT = "a sentence\n\n| a |\n| --- |\n| 1 |\n\nanother\n| b |\n| --- |\n| 2 |\n"


TABLES_PAGE = """Before.

<!-- benchmark: aa 2 -->
| b |
| --- |
| 0 |
<!-- end of benchmark: aa 2 -->

After, | no table.
"""


def test_every_table_of_a_page_is_of_a_benchmark() -> None:
    pages = [path.read_text("utf-8") for path in sorted(PAGES.glob("*.md"))]
    names = set().union(*map(benchmarks_of, pages))
    assert "intervals" in names
    for name in names:
        assert (ROOT / "tests" / "benchmarks" / f"bench_{name}.py").is_file(), name
    for page in pages:
        assert page.count("<!-- benchmark: ") == page.count("<!-- end of benchmark: ")


def test_a_table_is_replaced_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(TABLES_PAGE, "utf-8")
    assert write("other", OUTPUT, tmp_path) == []
    assert write("aa", OUTPUT, tmp_path) == [page]
    assert page.read_text("utf-8") == TABLES_PAGE.replace("| 0 |", "| 2 |")


def test_a_table_that_the_benchmark_does_not_print_is_refused() -> None:
    assert len(tables_in(OUTPUT)) == 2
    with pytest.raises(ValueError, match="aa"):
        with_tables(TABLES_PAGE, "aa", tables_in(OUTPUT)[:1])
