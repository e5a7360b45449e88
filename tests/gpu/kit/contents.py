"""Contents of a kit: packages for another Python, our sources and extensions, the engine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path

from exporters import install_layout
from runtimes.cuda.elf import TruncationError
from tests.checkout import ROOT
from tests.gpu.kit.fatbin import NotReadable, reduce

BASE, ENGINE = "base", "engine"
"""The archives: everything but the engine, and the engine alone."""
SOURCE, SITE = "source", "site"
"""The folders in them: our modules, and installed packages."""
ENGINE_MODULE = "onnxruntime"
ENGINE_PACKAGE = "onnxruntime-gpu"
MANAGEMENT_LIBRARY = "nvidia-ml-py"
"""Reads clocks and energy."""
MACHINE = "x86_64"
_NEWEST_GLIBC = 28
_SOURCES = ("app", "assets", "exporters", "runtimes", "tests/gpu", "tests/checkout.py")
_PICTURES = {".png", ".ttf"}
_TESTS_OF_PACKAGES = ("onnx/backend/test/data", "scipy/**/tests", "numpy/**/tests/data")
"""A sixth of all bytes of the packages, imported by nothing else in them."""
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTENSIONS = tuple(
    module["name"].removeprefix("graphlap.")
    for module in _PROJECT["tool"]["setuptools"]["ext-modules"]
)
# Plain C without a symbol of Python's, loaded by ctypes: one file serves every release.
_SUFFIX_OF_ANY_RELEASE = ".abi3.so"


class NotBuilt(Exception):
    """Why the kit can't be written, in one sentence with an action."""


def write_base(folder: Path, python: str, present: Collection[str]) -> None:
    """Our modules with their extensions, and the packages that they import."""
    requirements = [*_PROJECT["project"]["dependencies"], MANAGEMENT_LIBRARY]
    wheels = download(folder / "wheels", requirements, python)
    absent = [wheel for wheel in wheels if _name_of(wheel) not in present]
    install(folder / SITE, absent, python)
    shutil.rmtree(folder / "wheels")
    for pattern in _TESTS_OF_PACKAGES:
        for tests in sorted((folder / SITE).glob(pattern)):
            shutil.rmtree(tests)
    copy_sources(folder / SOURCE)


def write_engine(folder: Path, python: str, package: str, arch: int) -> list[str]:
    """The engine without the packages it depends on, its GPU code reduced to one architecture; a
    line for each library that was reduced."""
    wheels = download(folder / "wheels", [package], python, "--no-deps")
    install(folder / SITE, wheels, python)
    shutil.rmtree(folder / "wheels")
    lines = []
    for library in sorted((folder / SITE).rglob("*.so*")):
        try:
            reduction = reduce(library, arch)
        except (NotReadable, TruncationError) as error:
            raise NotBuilt(f"{library.name}: {error}. Use another release of {package}.") from None
        if reduction.cleared_bytes:
            kept_mb, zero_mb = (n / 1e6 for n in (reduction.kept_bytes, reduction.cleared_bytes))
            lines.append(
                f"{library.name}: {kept_mb:.1f} MB of GPU code kept, {zero_mb:.1f} MB cleared"
            )
    return lines


def copy_sources(folder: Path) -> None:
    """The checkout's files that the checks need, and compiled extensions for any Python."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *_SOURCES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode:
        raise NotBuilt(f"{ROOT} is not a git checkout. Build the kit in one.")
    names = [name for name in listing.stdout.split("\0") if name]
    for name in ["pyproject.toml", *names]:
        path = ROOT / name
        if path.suffix not in _PICTURES and path.is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    # A folder without it would give way to any installed package of that name.
    (folder / "tests" / "__init__.py").touch()
    for extension in EXTENSIONS:
        binary = install_layout.extension(extension)
        if binary is None:
            raise NotBuilt(
                f"the extension {extension} is not binary: {install_layout.COMPILER_REMEDY}"
            )
        target = folder.joinpath(*extension.split("."))
        shutil.copyfile(binary, target.with_name(target.name + _SUFFIX_OF_ANY_RELEASE))


def download(folder: Path, packages: Sequence[str], python: str, *options: str) -> list[Path]:
    """Wheels of packages for another Python, with what they depend on."""
    constraints = str(ROOT / "constraints.txt")
    _pip(
        "download", "--dest", str(folder), "-c", constraints, *_target(python), *options, *packages
    )
    return sorted(folder.glob("*.whl"))


def install(folder: Path, wheels: Sequence[Path], python: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if wheels:
        names = map(str, wheels)
        options = ("--no-deps", "--no-index", "--no-compile", "--target", str(folder))
        _pip("install", *options, *_target(python), *names)


def _target(python: str) -> list[str]:
    platforms = [f"manylinux_2_{minor}_{MACHINE}" for minor in range(_NEWEST_GLIBC, 4, -1)]
    platforms += [f"{name}_{MACHINE}" for name in ("manylinux2014", "manylinux2010", "manylinux1")]
    options = [part for platform in platforms for part in ("--platform", platform)]
    return [*options, "--python-version", python, "--only-binary", ":all:"]


def _pip(command: str, *arguments: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    process = subprocess.run(
        [sys.executable, "-m", "pip", command, *quiet, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no reason"])[-1]
        raise NotBuilt(f"pip {command} failed ({reason}). Check the index, --python and --engine.")


def _name_of(wheel: Path) -> str:
    return normal_name(wheel.name.partition("-")[0])


def normal_name(name: str) -> str:
    """A package's name as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
