"""The glossary has each word once, and the names that it refers to exist."""

from __future__ import annotations

import re
from functools import cache

import pytest

from app.cases.columns import BY_NAME as COLUMNS
from app.commands.parsers import parser_of
from app.commands.table import BY_NAME as COMMANDS
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
