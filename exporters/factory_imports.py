"""The files that a user's Python file imports from its own folder, told from their text alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def local_imports(path: Path) -> tuple[Path, ...]:
    """What the file imports from its folder, at any depth and in their order; it is not among them.

    A file that can't be read or parsed imports nothing, and what is imported by a name that is made
    up while it runs can't be known.
    """
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        for module in _imports(waiting.pop(), path.parent):
            if module != path and module not in found:
                found[module] = None
                waiting.append(module)
    return tuple(found)


def _imports(path: Path, folder: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield from _files(folder, alias.name.split("."))
            case ast.ImportFrom():
                base = folder if not node.level else _above(path, node.level)
                parts = (node.module or "").split(".") if node.module else []
                yield from _files(base, parts)
                for alias in node.names:
                    yield from _files(base, [*parts, alias.name])


def _above(path: Path, level: int) -> Path:
    """The folder that a relative import of this level begins at."""
    for _ in range(level):
        path = path.parent
    return path


def _files(folder: Path, parts: list[str]) -> Iterator[Path]:
    """The module of this name, and the packages that it lies in."""
    for count in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:count])
        for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
            if file.is_file():
                yield file
