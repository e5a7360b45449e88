"""A user's own torch module by its name: `hf:…`, or `path/file.py:factory`, which is told from its
text without running it, and run as a module.

Needs no torch, and is the one loader for who exports a module and who runs it.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from exporters import own
from exporters.regular import user_path
from exporters.twins import is_null
from exporters.types import ExportError

HUGGING_FACE = "hf:"
FORM = "the factory takes no arguments and returns (module, {input name: example tensor})"


@dataclass(frozen=True, slots=True)
class FactoryFile:
    """A user's `path/file.py:factory`, split and looked up."""

    path: Path
    function: str


def is_factory_file(model: str) -> bool:
    """Whether a model's name has the form `path/file.py:factory`."""
    return ".py:" in model and not is_null(model)


def factory_path(model: str) -> Path:
    """The file of a model named so, whether it is there or not."""
    return Path(os.path.realpath(user_path(model.rpartition(":")[0])))


def is_hugging_face(model: str) -> bool:
    """Whether a model's name has the form `hf:FOLDER` or `hf:NAME`."""
    return model.startswith(HUGGING_FACE)


def locate(model: str) -> FactoryFile:
    """Find file and function without running either; ExportError if one is not there."""
    path, function = factory_path(model), model.rpartition(":")[2]
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise ExportError(f"{path} is no file", FORM)
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except OSError as error:
        raise ExportError(f"{path} cannot be read ({error.strerror})", FORM) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = str(error) or "it is nested too deep"
        raise ExportError(f"{path} is not valid Python ({why})", FORM) from error
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if function not in functions:
        near = get_close_matches(function, functions, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else FORM
        raise ExportError(f"{path.name} defines no function {function!r}", remedy)
    return FactoryFile(path, function)


def run_file(path: Path) -> ModuleType:
    """Run the file as a module of its own, with its folder importable as for a script.

    What the user's PYTHONPATH names can be imported too, after everything else. Raises
    whatever the file raises.
    """
    own.add_user_path()
    # A name of its own cannot hide a module that the file imports; dataclasses look it up.
    spec = importlib.util.spec_from_file_location(f"graphlap_user_file_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder = str(path.parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module
