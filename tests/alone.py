"""A pytest plugin for the part of the suite that runs one test at a time: with `--only-alone` no
file is imported that has no test for it, because importing all of them takes a quarter of a minute
in which the other cores do nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

MARK = "mark.alone"
"""What such a file holds, or the conftest.py beside it that marks tests of its folder."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-alone", action="store_true", help="import only files that name the mark alone"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("--only-alone") or not collection_path.name.startswith("test_"):
        return None
    return None if names_the_mark(collection_path) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that `--only-alone` would lose."""
    marked_paths = {item.path for item in items if item.get_closest_marker("alone") is not None}
    unselected_paths = sorted(str(path) for path in marked_paths if not names_the_mark(path))
    if unselected_paths:
        raise pytest.UsageError(
            f"{', '.join(unselected_paths)}: write @pytest.{MARK} in the file itself"
        )


def names_the_mark(path: Path) -> bool:
    """Whether the text of a test file, or of the conftest.py beside it, holds the mark."""
    texts = (path, path.with_name("conftest.py"))
    return any(MARK in text.read_text("utf-8") for text in texts if text.is_file())
