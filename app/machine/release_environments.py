"""Environments of one release of an engine, `ort-cpu@1.20`: made in the cache, pinned and reused.

An environment is a folder that is renamed into place when all is installed, with a file of what it
holds: what is there is whole, and the same name measures the same packages until the folder is
removed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from app.cases.errors import PlanError
from app.machine.installed_runtimes import run_to_end
from exporters.cache import default_root
from exporters.file_access import private_folder
from runtimes import registry
from runtimes.errors import NotAvailable
from runtimes.registry import environment_of

PINNED = "requirements.txt"
"""In an environment: the packages that were installed, with their releases."""
TIME_LIMIT_S = 1800.0
_ABANDONED_AFTER_S = 24 * 3600.0
_ASIDE = ".aside-"

_RELEASE = re.compile(r"\d+(\.\d+){1,3}")
_FOLDER = re.compile(rf"(?P<packages>[^/]+?)-(?P<name>{_RELEASE.pattern})-")
_NUMPY_2_SINCE = {"onnxruntime": (1, 19), "onnxruntime-gpu": (1, 19)}
"""Package -> its first release that numpy 2 may be imported with; its earlier wheels don't say."""
_LIST_PACKAGES = """
from importlib.metadata import distributions
print(*sorted({f"{d.metadata['Name']}=={d.version}" for d in distributions()}), sep="\\n")
"""


@dataclass(frozen=True, slots=True)
class ReleaseEnvironment:
    """The environment `name` of these packages, each of that release."""

    name: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it lies, there or not: of one release of Python and one kind of machine."""
        kind = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
        return environments_folder() / f"{'+'.join(self.packages)}-{self.name}-{kind}"

    @property
    def label(self) -> str:
        """The packages and their release, `onnxruntime@1.20`."""
        return f"{'+'.join(self.packages)}@{self.name}"

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def exists(self) -> bool:
        """Whether it was made, and the Python that it was made of is still there."""
        return (self.folder / PINNED).is_file() and Path(self.python).exists()

    @property
    def requirements(self) -> tuple[str, ...]:
        """What is asked of the package index, engines and numpy."""
        release = tuple(map(int, self.name.split(".")))
        old = any(release < _NUMPY_2_SINCE.get(package, ()) for package in self.packages)
        engines = (f"{package}=={self.name}.*" for package in self.packages)
        return (*engines, "numpy<2" if old else "numpy")


def release_environments(runtimes: Iterable[str]) -> dict[str, ReleaseEnvironment]:
    """Name -> environment, of the `name[:device][@release]` whose engine a package of that release
    installs. Whether it was made is not looked at."""
    packages: dict[str, set[str]] = {}
    for text in runtimes:
        name = environment_of(text)
        package = _package(text)
        if package and _RELEASE.fullmatch(name):
            packages.setdefault(name, set()).add(package)
    return {
        name: ReleaseEnvironment(name, tuple(sorted(requirements)))
        for name, requirements in packages.items()
    }


def create(environment: ReleaseEnvironment) -> None:
    """Make it with uv or pip, whichever is here; PlanError if that can't be done, and then nothing
    is left behind."""
    venv, install = _installers()
    try:
        private_folder(default_root())
        environments_folder().mkdir(exist_ok=True)
        _remove_abandoned()
        aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=environments_folder()))
    except OSError as error:
        raise PlanError(
            f"--install: {environments_folder()} can't be written ({error.strerror})",
            "Set GRAPHLAP_CACHE to a folder of your own",
        ) from error
    try:
        new_folder = aside / "environment"
        python = str(new_folder / "bin" / "python")
        _run((*venv, str(new_folder)), environment)
        _run((*install(python), *environment.requirements), environment)
        packages = _run((python, "-c", _LIST_PACKAGES), environment)
        (new_folder / PINNED).write_text(packages, "utf-8")
        if not environment.exists:
            shutil.rmtree(environment.folder, ignore_errors=True)
            new_folder.rename(environment.folder)
    except OSError as error:
        if not environment.exists:  # another process may have been quicker
            raise _failed(environment, str(error)) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def installed() -> tuple[Path, ...]:
    """The folders of all that were made, by name."""
    return tuple(sorted(pin_file.parent for pin_file in environments_folder().glob(f"*/{PINNED}")))


def usable() -> tuple[ReleaseEnvironment, ...]:
    """All that were made for this release of Python and whose interpreter is still there."""
    environments = []
    for folder in installed():
        match = _FOLDER.match(folder.name)
        if match is None:
            continue
        environment = ReleaseEnvironment(match["name"], tuple(match["packages"].split("+")))
        if environment.folder == folder and environment.exists:
            environments.append(environment)
    return tuple(environments)


def environments_folder() -> Path:
    """Where they all lie."""
    return default_root() / "environments"


def _remove_abandoned() -> None:
    """Remove what processes have left that were killed while they installed."""
    for aside in environments_folder().glob(f"{_ASIDE}*"):
        if time.time() - aside.stat().st_mtime > _ABANDONED_AFTER_S:
            shutil.rmtree(aside, ignore_errors=True)


def _package(text: str) -> str:
    try:
        return registry.load(registry.parse_spec(text).name).distribution
    except NotAvailable:
        return ""


def _installers() -> tuple[Sequence[str], Callable[[str], Sequence[str]]]:
    """The command that makes a virtual environment, before the folder; and, of the interpreter in
    that folder, the one that installs, before the requirements."""
    uv = shutil.which("uv")
    if uv is not None:
        venv = (uv, "venv", "--quiet", "--python", sys.executable)
        install = (uv, "pip", "install", "--quiet", "--only-binary", ":all:")
        return venv, lambda python: (*install, "--python", python)
    if not any(distributions(name="pip")):
        raise PlanError(
            "--install: neither uv nor pip is here", "Install uv, or name interpreters by --python"
        )
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python")
    return (
        (sys.executable, "-m", "venv", "--without-pip"),
        lambda python: (*pip, python, "install", "--only-binary", ":all:"),
    )


def _run(command: Sequence[str], environment: ReleaseEnvironment) -> str:
    """What a program prints; PlanError with its last line if it fails."""
    try:
        process = run_to_end(command, TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise _failed(environment, f"no end within {TIME_LIMIT_S / 60:.0f} minutes") from None
    if process.returncode:
        lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _failed(environment, lines[-1].strip() if lines else "no reason was given")
    return process.stdout.decode("utf-8", "replace")


def _failed(environment: ReleaseEnvironment, reason: str) -> PlanError:
    packages = " ".join(environment.requirements)
    return PlanError(
        f"--install: {packages} can't be installed for this Python ({reason})",
        f"Name a release that has a wheel for it, or an interpreter: --python "
        f"{environment.name}=PATH",
    )
