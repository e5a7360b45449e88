"""Places of a source file where one small change makes it wrong, and the file with that change."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: in `file`, of the `number`th node as `ast.walk` has them."""

    file: Path
    line: int
    number: int
    before: str
    after: str


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Those of code that runs in a function: what runs at import fails every test."""
    tree = ast.parse(file.read_text("utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in ast.walk(statement)
    }
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in inside and (changed := _changed(node)) is not None:
            before, after = ast.unparse(node), ast.unparse(changed)
            yield Mutant(file, node.lineno, number, before, after)  # type: ignore[attr-defined]


def source_with(mutant: Mutant) -> str:
    """The whole file with the change."""
    tree = ast.parse(mutant.file.read_text("utf-8"))
    chosen = list(ast.walk(tree))[mutant.number]
    changed = _changed(chosen)
    assert changed is not None

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return changed if node is chosen else super().generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Exchange().visit(tree)))


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
        case ast.IfExp(body=body, orelse=orelse):
            other.body, other.orelse = orelse, body
        case ast.If(test=test):
            other.test = ast.UnaryOp(ast.Not(), test)
        case ast.AugAssign() | ast.Expr(value=ast.Call()) | ast.Raise() | ast.Continue():
            return ast.Pass()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            other.value = ast.Constant(None)
        case _:
            return None
    return other


def _is_text(node: ast.BinOp) -> bool:
    """Whether texts are joined, which has no difference."""
    sides = (node.left, node.right)
    return any(isinstance(s, ast.JoinedStr | ast.Constant) and _has_text(s) for s in sides)


def _has_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)
