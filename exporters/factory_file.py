"""A user's `path/file.py:factory`: told from its text, without running it or torch."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from exporters.types import ExportError

FORM = (
    "the factory takes no arguments and returns (module, {input name: example tensor}), "
    "dimension 0 of every tensor being the batch"
)


@dataclass(frozen=True, slots=True)
class FactoryFile:
    """A user's `path/file.py:factory`, split and looked up."""

    path: Path
    function: str


def is_factory_file(model: str) -> bool:
    """Whether a model's name has the form `path/file.py:factory`."""
    return ".py:" in model


def locate(model: str) -> FactoryFile:
    """Find file and function without running either; ExportError if one is not there."""
    file, _, function = model.rpartition(":")
    path = Path(file).expanduser().resolve()
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except OSError as error:
        raise ExportError(f"{path} cannot be read ({error.strerror})", FORM) from error
    except (SyntaxError, ValueError) as error:
        raise ExportError(f"{path} is not valid Python ({error})", FORM) from error
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if function not in functions:
        near = get_close_matches(function, functions, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else FORM
        raise ExportError(f"{path.name} defines no function {function!r}", remedy)
    return FactoryFile(path, function)
