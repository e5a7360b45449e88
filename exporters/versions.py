"""What a stored export depends on beside what was asked: our own sources and the pinned packages.

A key holds the digest of the files that can change its bytes, not of the whole package:
editing one definition must not export all others again.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from exporters import own

_PACKAGE = own.module_name("exporters")
_FOLDER = Path(__file__).parent


@cache
def made_by(*modules: str, packages: tuple[str, ...], definition: str = "") -> Mapping[str, str]:
    """Digest of these modules of `exporters`, and the versions of the packages.

    `definition` names the module of a torch definition; what it imports of `exporters`,
    at any depth, counts with it.
    """
    paths = {_path(f"{_PACKAGE}.{name}") for name in modules}
    if definition:
        paths |= _imported(definition)
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path is not None):
        digest.update(path.relative_to(_FOLDER).as_posix().encode())
        digest.update(path.read_bytes())
    return {"exporters": digest.hexdigest(), **{name: _version(name) for name in packages}}


def _version(package: str) -> str:
    """A package's version; onnxruntime's builds share one module and differ in name."""
    try:
        return version(package)
    except PackageNotFoundError:
        return version(f"{package}-gpu")


def _path(module: str) -> Path | None:
    """The source of a module of this package; None for any other."""
    if not module.startswith(f"{_PACKAGE}."):
        return None
    stem = _FOLDER.joinpath(*module.removeprefix(f"{_PACKAGE}.").split("."))
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)


def _imported(module: str) -> set[Path]:
    """The module's source and those that it imports, read without running any of them."""
    found: set[Path] = set()
    waiting = [own.module_name(module)]
    while waiting:
        path = _path(waiting.pop())
        if path is None or path in found:
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
    return found
