"""Tables of benchmarks in pages: each names a benchmark, and is replaced by what that prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.tables import PAGES, benchmarks_of, tables_in, with_tables, write
from tests.checkout import ROOT

OUTPUT = "a sentence\n\n| a |\n| --- |\n| 1 |\n\nanother\n| b |\n| --- |\n| 2 |\n"
PAGE = """Before.

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
    page.write_text(PAGE, "utf-8")
    assert write("other", OUTPUT, tmp_path) == []
    assert write("aa", OUTPUT, tmp_path) == [page]
    assert page.read_text("utf-8") == PAGE.replace("| 0 |", "| 2 |")


def test_a_table_that_the_benchmark_does_not_print_is_refused() -> None:
    assert len(tables_in(OUTPUT)) == 2
    with pytest.raises(ValueError, match="aa"):
        with_tables(PAGE, "aa", tables_in(OUTPUT)[:1])
