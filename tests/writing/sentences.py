"""Phrases of the word list in what people read: Markdown pages, and messages, which are the
sentences that the program shows (help, errors, warnings, labels).

Code is skipped, in a fence or in backquotes, and so are addresses and the targets of links.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.writing.words import PHRASES

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|https?://\S+")
SENTENCE_WORDS = 4
"""A string of fewer words is a name, a key or a label of code."""


@dataclass(frozen=True)
class Offender:
    file: str
    line: int
    text: str
    reason: str


def in_page(file: str, text: str) -> Iterator[Offender]:
    for pattern in (_FENCE, _CODE):
        text = pattern.sub(_blank, text)
    yield from _offenders(file, 1, text)


def in_messages(file: str, source: str) -> Iterator[Offender]:
    """Other strings of at least `SENTENCE_WORDS` words; `·` for a value in one."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {id(node) for node in _statements(nodes)}
    formatted_strings = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in formatted_strings for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            constants = (getattr(part, "value", None) for part in node.values)
            text = "".join(value if isinstance(value, str) else "·" for value in constants)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in parts | docstrings else node.value
        else:
            continue
        if len(text.split()) >= SENTENCE_WORDS:
            yield from _offenders(file, node.lineno, _CODE.sub(_blank, text))


def _statements(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """The strings among these nodes that are a statement."""
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str()) as constant):
                yield constant


def _offenders(file: str, first: int, text: str) -> Iterator[Offender]:
    # A line break within a phrase is a space; positions stay.
    flat = text.replace("\n", " ")
    for phrase in PHRASES:
        for match in phrase.pattern.finditer(flat):
            line = first + text.count("\n", 0, match.start())
            yield Offender(file, line, match.group(), f"{phrase.reason}: {phrase.instead}")


def _blank(match: re.Match[str]) -> str:
    """As many lines and characters, without the words."""
    return re.sub(r"[^\n]", " ", match.group())
