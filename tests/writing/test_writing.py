"""The forbidden words, on texts with and without them."""

from __future__ import annotations

from tests.writing.__main__ import in_text, messages


def test_a_page_is_read_without_its_code_and_addresses() -> None:
    page = (
        "# What it tells\n\n`graphlap told`: see [the\npage](told.md) that\n\n"
        "```\ngraphlap says\n```\n\nA number that is a whole\nnumber.\n"
    )
    assert [(line, word) for line, word, _ in in_text(page)] == [(0, "tells"), (9, "whole number")]


def test_messages_are_sentences_that_are_no_docstrings() -> None:
    source = (
        '"""Tell what a page says."""\n'
        "key = 'told by one'\n"
        "raise ValueError(f'--rounds {rounds} is no '\n"
        "    f'whole number: leave {it} out')\n"
        "# a comment tells nothing here\n"
        '"""What it tells."""\n'
    )
    found = [(first, word) for first, text in messages(source) for _, word, _ in in_text(text)]
    assert found == [(3, "whole number")]


def test_a_part_of_a_word_is_no_such_word() -> None:
    assert not list(in_text("Untold lanes; a shearing force; commended farthest.\n"))
