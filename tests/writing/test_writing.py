"""The naming rule and the writing rules, on files with and without offenders."""

from __future__ import annotations

import pytest

from tests.writing.__main__ import excesses, folder
from tests.writing.names import names_in
from tests.writing.sentences import in_docstrings, in_messages, in_page

SOURCE = """
from json import loads as told

class Found:
    kept: bool
    said: str

def of_rounds(one, *, before=None):
    for this in one:
        self.beside = [given for given in this]
    with open(path) as made, open(path) as file:
        pass
    try:
        expected = speed
    except OSError as asked:
        match asked:
            case {"a": here, **ours}:
                rows = known = None

def shown() -> bool: ...
"""


def test_names_that_name_nothing_are_found_wherever_they_are_bound() -> None:
    offenders = [(offender.line, offender.text) for offender in names_in("app/cases.py", SOURCE)]
    assert offenders == [
        (2, "told"),
        (4, "Found"),
        (6, "said"),
        (8, "before"),
        (8, "of_rounds"),
        (8, "one"),
        (9, "this"),
        (10, "beside"),
        (10, "given"),
        (11, "made"),
        (15, "asked"),
        (17, "here"),
        (17, "ours"),
        (18, "known"),
    ]


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("app/example/beside.py", ["beside"]),
        ("app/told/__init__.py", ["told"]),
        ("app/example/labels.py", []),
        ("app/__main__.py", []),
    ],
)
def test_a_module_is_named_by_a_noun(file: str, names: list[str]) -> None:
    assert [offender.text for offender in names_in(file, "")] == names


@pytest.mark.parametrize("name", ["told_rows", "expected", "seed", "case", "lanes", "_speed"])
def test_a_name_with_a_noun_in_it_passes(name: str) -> None:
    assert not list(names_in("app/a.py", f"{name} = 1"))


def test_a_page_is_read_without_its_code_and_addresses() -> None:
    page = (
        "# What it tells\n\n`graphlap told`: see [the\npage](told.md) that\n\n"
        "```\ngraphlap says\n```\n\nA mean, that\nof all.\n"
    )
    assert [(offender.line, offender.text) for offender in in_page("a.md", page)] == [
        (1, "tells"),
        (10, "that of"),
    ]


def test_sentences_of_a_program_are_docstrings_and_messages() -> None:
    source = (
        '"""Tell what a page says."""\n'
        "key = 'told by one'\n"
        "raise ValueError(f'--rounds {rounds} is no '\n"
        "    f'whole number: leave {it} out')\n"
        "# a comment tells nothing here\n"
        "limit = 3\n"
        '"""What it tells."""\n'
    )
    offenders = [(offender.line, offender.text) for offender in in_docstrings("a.py", source)]
    assert offenders == [(1, "Tell"), (1, "says"), (7, "tells")]
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
        ("tests/example/test_rows.py", "tests"),
        ("docs/example.md", "docs/example.md"),
    ],
)
def test_an_allowance_is_of_a_package_or_a_page(file: str, name: str) -> None:
    assert folder(file) == name
