"""Names of modules, classes, functions, arguments and variables that are bare participles, pronouns
or prepositions, over the syntax tree of a file.

A participle that is declared `bool` is a predicate (`hidden: bool`) and passes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.writing.words import kind_of_name


@dataclass(frozen=True)
class Offender:
    file: str
    line: int
    text: str
    reason: str


def names_in(file: str, source: str) -> Iterator[Offender]:
    """The module's own name first, at line 1, then what the file binds, by line."""
    path = Path(file)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    bindings = [(1, stem, False)] if not stem.startswith("__") else []
    bindings += sorted({*_bindings(ast.parse(source))})
    for line, name, is_flag in bindings:
        kind = kind_of_name(name)
        if kind and not (is_flag and kind == "participle"):
            yield Offender(file, line, name, kind)


def _bindings(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Line, name, and whether the name is declared to be a bool."""
    declared_flags = {
        id(node.target): _is_bool(node.annotation)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.lineno, node.name, _is_bool(node.returns)
            case ast.ClassDef():
                yield node.lineno, node.name, False
            case ast.arg():
                yield node.lineno, node.arg, _is_bool(node.annotation)
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id, declared_flags.get(id(node), False)
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr, declared_flags.get(id(node), False)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name, False
            case ast.alias(asname=str(name)):
                yield node.lineno, name, False
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield node.lineno, name, False


def _is_bool(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "bool"
