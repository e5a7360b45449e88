"""Names that would do harm where they were taken for more than text, and who judges that."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from tests.exporters.support import graph, tensor

OF_FILES = (
    "=cmd|' C calc'!A1 <img src=x onerror=strange=1><b>bold<!--",
    " \t@SUM(1+1)\nlines\r\x0b",
    "-1+1 \"quoted\" 'name' `x`; \\ [l](u) | || ~~s~~ *e* _u_ **b**",
    "'\uff1d1+1 %{x} ${1} $E=mc^2$ {0} %s @here #1 :+1: www.example.com",
    "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.\u2066x\u200f",
    "- 1. # 模型 Größe שלום עולם العربية 🙂",
    "2026-11-22",
    os.fsdecode(b"bytes\xff\xfe"),
)
"""Stems of files; a file's name holds all but a slash and a NUL."""
IN_GRAPHS = (
    "</script><script>strange=1</script>",
    '"]}; } evil { "',
    "=HYPERLINK(\"http://example.com\";'x')",
    "\x1b[31m\u202e\nx",
    "https://www.example.com/<b>",
)
"""Names of nodes and tensors, which hold more."""
AXIS = "</script><b>rows`|"
"""The name of an open axis."""
_CELL = re.compile(r'(?:^|[,;\t])("(?:[^"]|"")*"|[^,;\t\r\n]*)', re.MULTILINE)


def save_hostile(path: Path, names: tuple[str, ...] = IN_GRAPHS) -> Path:
    """y = relu(x @ w), called so, with two nodes, three tensors and an open axis."""
    weights = np.eye(4, dtype=np.float32)
    x, y, middle = f"x{names[0]}", f"y{names[1]}", names[2]
    nodes = [
        helper.make_node("MatMul", [x, "w"], [middle], name=names[3]),
        helper.make_node("Relu", [middle], [y], name=names[4]),
    ]
    ends = [tensor(name, [AXIS, 4]) for name in (x, y)]
    onnx.save(graph(nodes, ends[:1], ends[1:], {"w": weights}), path)
    return path


def formulas(content: bytes) -> list[str]:
    """The cells of a CSV file that a spreadsheet would run: all that begin so and are no number.

    Every row must have as many cells as the first.
    """
    rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}, "no name ends a cell"
    return [cell for cell in (*itertools.chain(*rows), *_split_at_all(content)) if _runs(cell)]


def _split_at_all(content: bytes) -> list[str]:
    """The cells for a program that takes commas, semicolons and tabs for their ends."""
    cells = _CELL.findall(content.decode("utf-8"))
    return [cell[1:-1].replace('""', '"') if cell.startswith('"') else cell for cell in cells]


def _runs(cell: str) -> bool:
    first_character = cell.lstrip()[:1]
    if not first_character or first_character not in "=+-@\uff1d\uff0b\uff0d\uff20":
        return cell[:1] in ("\t", "\r", "\n")
    try:
        float(cell)
    except ValueError:
        return True
    return False


def steering(text: str) -> list[str]:
    """The characters of a text in lines that a terminal would act on, or not show."""
    return [char for char in text if not char.isprintable() and char != "\n"]


class Seen(HTMLParser):
    """A page's tags with the names of their attributes, and its text outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.text = ""
        self._open_tag = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open_tag = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._open_tag = ""

    def handle_data(self, data: str) -> None:
        if self._open_tag == "script":
            self.scripts[-1] += data
        elif self._open_tag != "style":
            self.text += data


def opened_by_markdown(text: str) -> Iterator[str]:
    """What of a page in Markdown becomes more than text: markup within lines, links, HTML."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for token in reader.parse(text):
        for child in token.children or ():
            if child.type not in ("text", "text_special", "softbreak"):
                yield f"{child.type}: {child.content}"
        if token.type in ("html_block", "code_block", "fence"):
            yield f"{token.type}: {token.content}"
        if token.type.endswith("list_open") and token.level > 1:
            yield token.type
