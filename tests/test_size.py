"""What counts as a line of code, and what the size report sums."""

from __future__ import annotations

import pytest

from tests.checkout import ROOT
from tests.size import Size, c_lines, files, group_of, groups, measure

SOURCE = '''"""A docstring
of two lines."""

from json import (  # a comment
    loads,
)

WIDTH = 3
"""What an attribute is for."""


def double(x):
    """A docstring."""
    # a comment

    return """two
lines""" + (
        x
    )
'''


def test_a_code_line_is_neither_blank_nor_comment_nor_docstring() -> None:
    assert measure(SOURCE) == Size(lines=9, import_lines=3, functions=(5,))
    assert measure("") == Size(lines=0, import_lines=0, functions=())


def test_a_c_line_is_neither_blank_nor_comment() -> None:
    assert c_lines("/* two\nlines */\n\nint x; // one\n  // none\nint y; /* and */\n") == 2


@pytest.mark.rare  # `make check` counts too
def test_every_file_is_of_one_group_and_what_moves_is_counted_where_it_goes() -> None:
    sizes = dict(files(ROOT))
    assert {"setup.py", "tests/size.py", "runtimes/calls/timed.c"} <= sizes.keys()
    paths = ["app/cases/case.py", "tests/size.py", "tests/benchmarks/__main__.py"]
    assert [group_of(path) for path in paths] == ["product", "tests", "benchmarks"]
    assert group_of("assets/examples/x.py") == "examples"
    rows = [line.split() for line in groups(sizes.items())]
    assert sum(int(count) for _, count, _ in rows) == len(sizes)
    assert sum(int(lines) for _, _, lines in rows) == sum(size.lines for size in sizes.values())
