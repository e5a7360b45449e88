"""Our stub of pyqtgraph believes nothing that the installed release does not have."""

from __future__ import annotations

import ast
import inspect

import pyqtgraph
import pytest

from tests.checkout import ROOT

STUB = ROOT / "tests" / "stubs" / "pyqtgraph" / "__init__.pyi"


def _declared() -> dict[str, ast.FunctionDef]:
    """Every function of the stub by its dotted name."""
    body = ast.parse(STUB.read_text("utf-8")).body
    owned = [("", node) for node in body]
    owned += [
        (f"{kind.name}.", node)
        for kind in body
        if isinstance(kind, ast.ClassDef)
        for node in kind.body
    ]
    return {owner + node.name: node for owner, node in owned if isinstance(node, ast.FunctionDef)}


DECLARED = _declared()


@pytest.mark.parametrize("name", DECLARED)
def test_a_call_that_the_type_checker_allows_is_one_that_pyqtgraph_takes(name: str) -> None:
    stub, found = DECLARED[name], pyqtgraph
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)
    try:
        real = inspect.signature(found).parameters.values()
    except ValueError:
        return  # Qt's own: PySide brings no signature that Python could read
    if any(one.kind is one.VAR_KEYWORD for one in real):
        return
    declared = {one.arg for one in (*stub.args.args, *stub.args.kwonlyargs)}
    assert declared <= {one.name for one in real}
