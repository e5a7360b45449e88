"""Where an execution provider's library lies, and what it calls itself: ONNX Runtime's convention.

A package follows it with `get_library_path()` and `get_ep_name()` or `get_ep_names()`:
onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html. Only `plugin` imports
one, which is for a child: what it loads may crash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from exporters.types import GraphlapError
from runtimes.base import Device
from runtimes.errors import NotAvailable

_REMEDY = "name a package that follows ONNX Runtime's convention, or the path of its library"
_USUAL_PREFIX = "onnxruntime_ep_"
_DOTTED_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A provider's library; `names` are its providers, empty where nobody tells them."""

    path: str
    names: tuple[str, ...] = ()


def installed() -> tuple[Device, ...]:
    """The packages that are called as ONNX Runtime advises, found without importing them."""
    package_names = sorted(m.name for m in iter_modules() if m.name.startswith(_USUAL_PREFIX))
    return tuple(Device(name, _release(name)) for name in package_names)


def refuse_misnamed(target: str) -> None:
    """NotAvailable for what is neither a library that is there nor the name of a package."""
    if is_path(target):
        if not Path(target).is_file():
            raise NotAvailable(f"there is no file {target}", "give the path of the library")
    elif not _DOTTED_NAME.fullmatch(target):
        # What pip installs by one name is imported by the other.
        name = target.replace("-", "_")
        suggestion = f"did you mean {name}? " if _DOTTED_NAME.fullmatch(name) else ""
        raise NotAvailable(
            f"{target!r} is neither a package nor the path of a library", f"{suggestion}{_REMEDY}"
        )


def is_path(target: str) -> bool:
    return "/" in target or target.endswith((".so", ".dylib"))


def plugin(target: str) -> Plugin:
    """The library of a package, which is imported, or of a path; NotAvailable with the reason."""
    if is_path(target):
        return Plugin(str(Path(target).resolve()))
    module = _import_plugin(target)
    if not callable(getattr(module, "get_library_path", None)):
        raise NotAvailable(
            f"the package {target} brings no execution provider: it has no get_library_path()",
            _REMEDY,
        )
    try:
        return Plugin(str(module.get_library_path()), _names(module))
    except GraphlapError:
        raise
    except Exception as error:
        raise NotAvailable(
            f"the package {target} does not provide the path of its library "
            f"({type(error).__name__}: {error})",
            "install it again",
        ) from error


def _import_plugin(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise _missing(name) from error
        raise _broken_package(name, error) from error
    except Exception as error:
        raise _broken_package(name, error) from error


def _names(module: ModuleType) -> tuple[str, ...]:
    if callable(getattr(module, "get_ep_names", None)):
        return tuple(map(str, module.get_ep_names()))
    if callable(getattr(module, "get_ep_name", None)):
        return (str(module.get_ep_name()),)
    return ()


def _missing(name: str) -> NotAvailable:
    return NotAvailable(
        f"the package {name} is not installed",
        f"pip install {name.partition('.')[0].replace('_', '-')}, or give the path of a library",
    )


def _broken_package(name: str, error: Exception) -> NotAvailable:
    return NotAvailable(
        f"the package {name} can't be imported ({type(error).__name__}: {error})",
        "install it again",
    )


def _release(module: str) -> str:
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return "of no known release"
