"""What another library complains of, in one line that says something."""

from __future__ import annotations

import pytest

from exporters.types import first_line, named


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\x1b[31mno such node\x1b[0m\nand more", "no such node"),
        ("", "ValueError"),
        (
            "Nodes in a graph must be topologically sorted, however input 't' of node: \n"
            "name: second OpType: Relu\n is not output of any previous nodes.",
            "Nodes in a graph must be topologically sorted, however input 't' of node: "
            "name: second OpType: Relu",
        ),
        ("it ends here:", "it ends here:"),
        ("\n\n  Context:\n\n  the sizes differ\n  here", "Context: the sizes differ"),
    ],
)
def test_a_line_that_ends_with_a_colon_is_told_with_the_next(text: str, told: str) -> None:
    assert first_line(ValueError(text)) == told


def test_bytes_that_are_no_text_are_told_as_such() -> None:
    try:
        b"\xe5\xe5".decode()
    except UnicodeDecodeError as error:
        assert first_line(error) == "a name in it is no text"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no such node\nand more"), "ValueError: no such node"),
        (SystemExit(), "SystemExit"),
        (KeyError("\n"), "KeyError: '\\n'"),
    ],
)
def test_an_error_that_nobody_foresaw_is_told_by_its_type(error: BaseException, told: str) -> None:
    assert named(error) == told
