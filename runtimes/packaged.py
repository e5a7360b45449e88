"""Runtimes that other packages bring: entry points of the group `graphlap.runtimes`.

What is installed is read without importing any of it; a package's module is imported when its
runtime is asked for. One that can't be had is a runtime that is not available, and says why.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import ClassVar

from exporters import install_layout
from exporters.types import PRECISIONS, named
from runtimes.base import Availability, Runtime, Session, Unavailable
from runtimes.errors import NotAvailable
from runtimes.options import Request

GROUP = "graphlap.runtimes"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Packaged:
    """One runtime of a package: `point` names its class."""

    package: str
    version: str
    point: EntryPoint

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


class Unusable(Runtime):
    """Stands for a runtime that is installed and can't be had; `version` is its package's."""

    precisions = PRECISIONS
    version: ClassVar[str]
    why: ClassVar[Unavailable]

    def availability(self) -> Availability:
        return self.why

    def _compile(self, request: Request) -> Session:
        raise NotAvailable(self.why.reason, self.why.remedy)


@dataclass(frozen=True, slots=True)
class Offered:
    """What the installed packages offer, by the names of the runtimes; `refused` says of what is
    no runtime of ours why not."""

    runtimes: Mapping[str, Packaged]
    refused: Mapping[str, Unavailable]


def read(builtin_names: Collection[str], path: Sequence[str] | None = None) -> Offered:
    """What is installed in the folders of `path` (None: all that can be imported), by name.

    A name that is `builtin_names`, is offered twice or can't be written on a command line is
    refused.
    """
    runtimes: dict[str, Packaged] = {}
    refusals: dict[str, Unavailable] = {}
    for distribution in _with_our_group(sys.path if path is None else path):
        try:
            points = _points(distribution)
        except Exception as error:  # whatever a damaged file of theirs leads to
            place = str(distribution.locate_file(""))
            cause = f"a package in {place} has entry points that can't be read ({named(error)})"
            refusals[place] = Unavailable(cause, "install it again")
            continue
        for package in points:
            refusal = _refusal(package, builtin_names, runtimes.get(package.point.name))
            if refusal is None:
                runtimes.setdefault(package.point.name, package)
            else:
                refusals[package.point.name] = refusal
    runtimes_by_name = {name: runtimes[name] for name in sorted(runtimes.keys() - refusals.keys())}
    return Offered(runtimes_by_name, dict(sorted(refusals.items())))


def load(package: Packaged) -> Runtime:
    """The runtime; where it can't be had, one that is not available and tells the reason."""
    install_layout.answer_to_our_name()
    place = package.point.value
    try:
        runtime_class = package.point.load()
        if not (isinstance(runtime_class, type) and issubclass(runtime_class, Runtime)):
            return _unusable(package, f"{place} is no class made from graphlap.runtime.Runtime")
        runtime: Runtime = runtime_class()
        identity = (runtime.name, runtime.summary)
    except (Exception, SystemExit) as error:
        return _unusable(package, f"{place} can't be loaded ({named(error)})")
    if identity[0] != package.point.name:
        return _unusable(package, f"{place} calls itself {identity[0]!r}")
    return runtime


def _with_our_group(path: Sequence[str]) -> Iterator[Distribution]:
    for distribution in distributions(path=list(path)):
        if GROUP in (distribution.read_text("entry_points.txt") or ""):
            yield distribution


def _points(distribution: Distribution) -> list[Packaged]:
    points = distribution.entry_points.select(group=GROUP)
    return [Packaged(distribution.name, distribution.version, point) for point in points]


def _refusal(
    package: Packaged, builtin_names: Collection[str], other: Packaged | None
) -> Unavailable | None:
    offers = f"offers a runtime called {package.point.name!r}"
    if package.point.name in builtin_names:
        cause = f"{package} {offers}, which is one of Graphlap's own"
        return Unavailable(cause, "its entry point needs another name")
    if not _NAME.fullmatch(package.point.name):
        cause = f"{package} {offers}, which no plan can name"
        return Unavailable(cause, "its entry point needs a name of small letters, digits, - and _")
    # Of a package that lies in two folders the first counts, as in an import.
    if other is not None and other.package != package.package:
        cause = f"{package} {offers}, and so does {other}"
        return Unavailable(cause, f"uninstall one of them, as in pip uninstall {package.package}")
    return None


def _unusable(package: Packaged, reason: str) -> Runtime:
    attributes = {
        "name": package.point.name,
        "summary": f"a runtime of the package {package}, which can't be used",
        "version": package.version,
        "why": Unavailable(
            f"the package {package} brings it, and {reason}",
            f"repair that package, or pip uninstall {package.package}",
        ),
    }
    return type("Unusable", (Unusable,), attributes)()
