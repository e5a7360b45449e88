"""`python -m tests.writing`: words that pages and messages must not have, each with its place.

Pages are README, docs and the like; messages are the sentences that the program shows (help,
errors, warnings, labels). Code is skipped: fences, backquotes, addresses and targets of links.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

from tests.checkout import ROOT

FORBIDDEN = {
    "tells?|told|telling|says?|said|saying": "print, write, record, report, return or show",
    "hears?|heard|hearing": "receive, read or listen",
    "mends?|mended|mending": "fix, install, repair",
    "anyone|anybody|nobody|whoever|somebody": "you, the user, the process, no process",
    "whole numbers?": "integer",
    "farther": "further, more",
    "under way": "running, in flight",
    "amiss|in vain|hardly|by turns": "wrong, without effect, rarely, alternately",
}
"""Words -> what to write instead."""
PRODUCT = ("app/", "exporters/", "runtimes/")
RECORDS = ("CHANGELOG.md",)
"""What was written at its time, and stays."""
SENTENCE_WORDS = 4
"""A string of fewer words is a name, a key or a label of code."""
_PATTERNS = {
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE): remedy for words, remedy in FORBIDDEN.items()
}
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|https?://\S+", re.MULTILINE | re.DOTALL)
Text = tuple[int, str]
"""The line that it begins in, and the text."""


def main() -> int:
    found = [f"{place}: {word!r}: write {remedy}" for place, word, remedy in offenders()]
    print("\n".join(found) or "no forbidden words")
    return 1 if found else 0


def offenders() -> Iterator[tuple[str, str, str]]:
    """Place, word and remedy, in the files that git tracks."""
    pages = ("docs/*.md", ":(glob)*.md", "assets/actions.csv", "assets/terms.csv")
    command = ["git", "ls-files", *pages, *(f"{top}*.py" for top in PRODUCT)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for file in process.stdout.splitlines():
        if file in RECORDS or not (ROOT / file).is_file():
            continue
        content = (ROOT / file).read_text("utf-8")
        for first, text in messages(content) if file.endswith(".py") else [(1, content)]:
            for line, word, remedy in in_text(text):
                yield f"{file}:{first + line}", word, remedy


def in_text(text: str) -> Iterator[tuple[int, str, str]]:
    """How many lines below the first, the word and the remedy."""
    prose = _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    flat = prose.replace("\n", " ")
    for pattern, remedy in _PATTERNS.items():
        for match in pattern.finditer(flat):
            yield prose.count("\n", 0, match.start()), match.group(), remedy


def messages(source: str) -> Iterator[Text]:
    """The strings that are no docstrings; `·` for a value in one."""
    nodes = list(ast.walk(ast.parse(source)))
    excluded = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    excluded |= {id(n) for node in nodes if isinstance(node, ast.JoinedStr) for n in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            values = (getattr(part, "value", None) for part in node.values)
            text = "".join(value if isinstance(value, str) else "·" for value in values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in excluded else node.value
        else:
            continue
        if len(text.split()) >= SENTENCE_WORDS:
            yield node.lineno, text


if __name__ == "__main__":
    sys.exit(main())
