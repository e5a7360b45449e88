"""Steps of an export: taken from the store where their key is found, else executed and stored.

A key holds the digest of the files that can change its bytes, not of the whole package: the
sources of the module that defines the step and of all that it imports, and the pinned packages.
Editing one definition does not export all others again, and no list of sources is kept by hand.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, TypeVarTuple

from exporters import install_layout
from exporters.cache import Entry, Store, key_of
from exporters.codec import to_json
from exporters.file_access import file_sha256
from exporters.types import Made

_PACKAGE = install_layout.module_name("exporters")
_FOLDER = Path(__file__).parent
_STORE = {install_layout.module_name(f"exporters.{name}") for name in ("cache", "steps")}
"""What the store gives is what was put into it, under a key of its own: its code is in none."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+([\w.]+))",
    re.MULTILINE,
)
"""A statement of our formatted sources; a syntax tree takes thirty times as long, at each start."""
_NAME = re.compile(r"\w+")


@cache
def made_by(*modules: str, packages: tuple[str, ...]) -> Mapping[str, str]:
    """Digest of the sources of these modules of `exporters`, and the versions of the packages."""
    digest = hashlib.sha256()
    for path in sorted(sources(*modules)):
        digest.update(path.relative_to(_FOLDER).as_posix().encode())
        digest.update(path.read_bytes())
    return {"exporters": digest.hexdigest(), **{name: _version(name) for name in packages}}


def sources(*modules: str) -> frozenset[Path]:
    """The files of these modules and of all that they import of `exporters`, at any depth.

    Told from the text, without running any of them. A module that is no part of `exporters`
    has none.
    """
    paths: set[Path] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        path = _path(module)
        if path is None or path in paths or module in _STORE:
            continue
        paths.add(path)
        waiting += _imports(path)
    return frozenset(paths)


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """What a file imports, wherever in it, and the names that may be modules too."""
    names = []
    for module, import_text, whole in _IMPORT.findall(path.read_text("utf-8")):
        names += [whole] if whole else [module]
        names += [f"{module}.{name}" for name in _NAME.findall(import_text)]
    return tuple(names)


@cache
def _version(package: str) -> str:
    """A package's version; onnxruntime's builds share one module and differ in name."""
    for name in (package, f"{package}-gpu"):
        with suppress(PackageNotFoundError):
            return version(name)
    # Which distribution a module is of is told by the file lists of all: a tenth of a second.
    distributions = packages_distributions().get(package, ())
    return version(distributions[0]) if distributions else "not installed"


def _path(module: str) -> Path | None:
    """The source of a module of this package; None for any other."""
    if not module.startswith(f"{_PACKAGE}."):
        return None
    stem = _FOLDER.joinpath(*module.removeprefix(f"{_PACKAGE}.").split("."))
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)


Ts = TypeVarTuple("Ts")


@dataclass(frozen=True, slots=True)
class Done:
    """What a step made, in the store, and whether it was there already."""

    entry: Entry
    stored: bool


def done(
    store: Store,
    step: Callable[[Path, *Ts], Made],
    *arguments: *Ts,
    key_facts: Mapping[str, Any] | None,
    packages: tuple[str, ...],
    extra_modules: tuple[str, ...] = (),
) -> Done:
    """The step's result for these arguments, made in a folder of the store if it is not kept.

    `key_facts` are JSON values that stand for the arguments, `packages` those whose version can
    change the result, and `extra_modules` our modules that the step reaches without importing them.
    Without `key_facts` nothing is looked up: the result is stored by what came out, which later
    ones do not replace.
    """
    key = ""
    if key_facts is not None:
        key = key_of(
            **key_facts, versions=made_by(step.__module__, *extra_modules, packages=packages)
        )
        entry = store.get(key)
        if entry is not None:
            return Done(entry, stored=True)
    with store.scratch() as folder:
        outcome = step(folder, *arguments)
        facts = {} if outcome.facts is None else to_json(outcome.facts)
        if not key:
            key = key_of(**{label: file_sha256(file) for label, file in outcome.files.items()})
        return Done(store.put(key, facts, outcome.files), stored=False)
