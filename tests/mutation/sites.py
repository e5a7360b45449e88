"""Places of a source file where one small change makes it wrong, and the file with that change.

Left out are places where a change means nothing, or repeats another: what runs at import and so
fails every test; annotations; what no test asserts, which is texts with values in them, what a
raised error is made with, `__repr__` and `__str__`; guards that only speak up when a caller errs
(`strict=` and `stacklevel=`); unions in `isinstance`; and the negation of a condition whose own
operator is exchanged to the same effect.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.checkout import ROOT

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Pow: ast.Mult,
}


_WORDS = frozenset({"__repr__", "__str__"})
_GUARDS = frozenset({"strict", "stacklevel"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: in `file`, of the `number`th node as `ast.walk` has them."""

    file: Path
    line: int
    number: int
    before: str
    after: str
    text: str
    """The line as it is, without its indent."""


def mutants_of(file: Path) -> Iterator[Mutant]:
    source = file.read_text("utf-8")
    tree, texts = ast.parse(source), source.splitlines()
    inside: set[int] = set()
    outside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in _WORDS:
            inside |= _parts(*node.body)
        outside |= _parts(*_meaningless(node))
    chosen = inside - outside
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in chosen and (changed := _changed(node)) is not None:
            line: int = node.lineno  # type: ignore[attr-defined]
            yield Mutant(file, line, number, _shown(node), _shown(changed), texts[line - 1].strip())


def _shown(node: ast.AST) -> str:
    return f"if {ast.unparse(node.test)}" if isinstance(node, ast.If) else ast.unparse(node)


def _parts(*nodes: ast.AST | None) -> set[int]:
    return {id(part) for node in nodes if node is not None for part in ast.walk(node)}


def _meaningless(node: ast.AST) -> tuple[ast.AST | None, ...]:
    """The parts of a node where a change means nothing."""
    match node:
        case ast.JoinedStr():
            return (node,)
        case ast.Raise(exc=error, cause=cause):
            return (error, cause)
        case ast.FunctionDef(name=name) if name in _WORDS:
            return tuple(node.body)
        case ast.FunctionDef(returns=annotation) | ast.arg(annotation=annotation):
            return (annotation,)
        case ast.AnnAssign(annotation=annotation):
            return (annotation,)
        case ast.keyword(arg=str(name), value=value) if name in _GUARDS:
            return (value,)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            return (kinds,)
        case _:
            return ()


def source_with(mutant: Mutant) -> str:
    """The whole file with the change."""
    return ast.unparse(tree_with(mutant))


def tree_with(mutant: Mutant) -> ast.Module:
    """The same as a syntax tree, with the lines of the file."""
    tree = ast.parse(mutant.file.read_text("utf-8"))
    chosen = list(ast.walk(tree))[mutant.number]
    changed = _changed(chosen)
    assert changed is not None

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return changed if node is chosen else super().generic_visit(node)

    changed_tree: ast.Module = Exchange().visit(tree)
    return ast.fix_missing_locations(changed_tree)


def _changed(node: ast.AST) -> ast.AST | None:
    """The node with one change that alters what it computes; None where there is none."""
    other = copy.deepcopy(node)
    match other:
        case ast.Compare(ops=[operator, *_]) if type(operator) in _COMPARISONS:
            other.ops[0] = _COMPARISONS[type(operator)]()
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS and not _is_text(other):
            other.op = _OPERATORS[type(operator)]()
        case ast.BoolOp(op=operator):
            other.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            other.value = not value
        case ast.Constant(value=int(value)) | ast.Constant(value=float(value)):
            other.value = value + 1
        case ast.IfExp(test=test, body=body, orelse=orelse) if not _is_exchanged(test):
            other.body, other.orelse = orelse, body
        case ast.If(test=test) if not _is_exchanged(test):
            other.test = ast.UnaryOp(ast.Not(), test)
        case ast.AugAssign() | ast.Expr(value=ast.Call()) | ast.Raise() | ast.Continue():
            return ast.Pass()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            other.value = ast.Constant(None)
        case _:
            return None
    return other


def _is_exchanged(test: ast.expr) -> bool:
    """Whether the change of the condition's own operator negates it."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot()]):
            return True
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return True
        case _:
            return False


def _is_text(node: ast.BinOp) -> bool:
    """Whether texts are joined, which has no difference."""
    sides = (node.left, node.right)
    return any(isinstance(s, ast.JoinedStr | ast.Constant) and _has_text(s) for s in sides)


def _has_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def root_path(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()
