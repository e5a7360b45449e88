"""Our stub of pyqtgraph believes nothing that the installed release does not have."""

from __future__ import annotations

import ast
import inspect

import pyqtgraph
import pytest

from tests.checkout import ROOT

STUB = ROOT / "tests" / "stubs" / "pyqtgraph" / "__init__.pyi"


def _read_stub() -> dict[str, ast.FunctionDef]:
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


DECLARED = _read_stub()


@pytest.mark.parametrize("name", DECLARED)
def test_a_call_that_the_type_checker_allows_is_one_that_pyqtgraph_takes(name: str) -> None:
    stub, value = DECLARED[name], pyqtgraph
    for part in name.split("."):
        value = getattr(value, part)
    assert callable(value)
    try:
        real = inspect.signature(value).parameters.values()
    except ValueError:
        return  # Qt's own: PySide brings no signature that Python could read
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in real):
        return
    stub_names = {parameter.arg for parameter in (*stub.args.args, *stub.args.kwonlyargs)}
    assert stub_names <= {parameter.name for parameter in real}
