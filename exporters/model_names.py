"""Names of models: null twins, factories in a user's file with the files that it imports, Hugging
Face folders.

No catalogue name has a bracket, and no path of an .onnx file, factory or `hf:` folder that is
measured both begins with `null(` and ends with `)`: the name of a null twin is unique.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from exporters import install_layout
from exporters.file_access import user_path
from exporters.types import ExportError, nearest

_BEGINS, _ENDS = "null(", ")"


def null_of(model: str) -> str:
    """The name of a model's null twin."""
    return f"{_BEGINS}{model}{_ENDS}"


def is_null(model: str) -> bool:
    """Whether the name is that of a null twin."""
    return model.startswith(_BEGINS) and model.endswith(_ENDS)


def original_of(model: str) -> str:
    """The model whose twin has this name; the name itself if it is no twin's."""
    return model.removeprefix(_BEGINS).removesuffix(_ENDS) if is_null(model) else model


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
        raise ExportError(
            f"{path.name} defines no function {function!r}", nearest(function, functions, FORM)
        )
    return FactoryFile(path, function)


def run_file(path: Path) -> ModuleType:
    """Run the file as a module of its own, with its folder importable as for a script.

    What the user's PYTHONPATH names can be imported too, after everything else. Raises
    whatever the file raises.
    """
    install_layout.add_user_path()
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


def local_imports(path: Path) -> tuple[Path, ...]:
    """What the file imports from its folder, at any depth and in their order; it is not among them.

    A file that can't be read or parsed imports nothing, and what is imported by a name that is made
    up while it runs can't be known.
    """
    imported_paths: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        for module in _imports(waiting.pop(), path.parent):
            if module != path and module not in imported_paths:
                imported_paths[module] = None
                waiting.append(module)
    return tuple(imported_paths)


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
                base = folder if not node.level else _parent_folder(path, node.level)
                parts = (node.module or "").split(".") if node.module else []
                yield from _files(base, parts)
                for alias in node.names:
                    yield from _files(base, [*parts, alias.name])


def _parent_folder(path: Path, level: int) -> Path:
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
