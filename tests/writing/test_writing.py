"""The writing rules, on files with and without offenders."""

from __future__ import annotations

import pytest

from tests.writing.__main__ import excesses, folder
from tests.writing.sentences import in_messages, in_page


def test_a_page_is_read_without_its_code_and_addresses() -> None:
    page = (
        "# What it tells\n\n`graphlap told`: see [the\npage](told.md) that\n\n"
        "```\ngraphlap says\n```\n\nA mean, that\nof all.\n"
    )
    assert [(offender.line, offender.text) for offender in in_page("a.md", page)] == [
        (1, "tells"),
        (10, "that of"),
    ]


def test_messages_are_sentences_that_are_no_docstrings() -> None:
    source = (
        '"""Tell what a page says."""\n'
        "key = 'told by one'\n"
        "raise ValueError(f'--rounds {rounds} is no '\n"
        "    f'whole number: leave {it} out')\n"
        "# a comment tells nothing here\n"
        "limit = 3\n"
        '"""What it tells."""\n'
    )
    offenders = [(offender.line, offender.text) for offender in in_messages("a.py", source)]
    assert offenders == [(3, "whole number"), (3, "leave · out")]


def test_a_part_of_a_word_is_no_phrase() -> None:
    assert not list(in_page("a.md", "Untold lanes are hadrons; a recommended outlay; besides.\n"))


def test_a_folder_without_an_allowance_may_have_no_offender() -> None:
    counts = {"app": 3, "docs/new.md": 1, "exporters": 2}
    assert list(excesses(counts, {"app": 1, "exporters": 2})) == [("app", 2), ("docs/new.md", 1)]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("app/example/plots/rows.py", "app/example"),
        ("app/example.py", "app"),
        ("docs/example.md", "docs/example.md"),
    ],
)
def test_an_allowance_is_of_a_package_or_a_page(file: str, name: str) -> None:
    assert folder(file) == name
