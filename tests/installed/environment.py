"""Our sources -> a wheel -> a virtual environment with the wheel in it, as a user has it.

Engines and libraries come from the development environment, through a `.pth` line that only
names its folder: the `.pth` files in there, and so an editable install of ours, have no part.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

from tests.checkout import ROOT

ROOMS = ("app", "assets", "exporters", "runtimes")
_LIMIT_S = 240
_FOREIGN = ("PYTHONPATH", "DISPLAY", "WAYLAND_DISPLAY")


def source_files() -> list[Path]:
    """What a clone of the checkout as it is now would hold, relative to its root."""
    process = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(set(process.stdout.split("\0")) - {""})
    return [Path(name) for name in names if (ROOT / name).is_file()]


def copy_sources(destination: Path) -> Path:
    for path in source_files():
        (destination / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, destination / path)
    return destination


def build_wheel(source: Path, folder: Path) -> Path:
    """The wheel of a source folder or of an sdist, built with this environment's setuptools."""
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-cache-dir")
    _pip("wheel", *options, "--wheel-dir", str(folder), str(source))
    (wheel,) = folder.glob("graphlap-*.whl")
    return wheel


def write_other_distribution(folder: Path) -> Path:
    """The wheel of somebody else's web project, with a top-level `app`."""
    info = "webshop-1.0.dist-info"
    files = {
        "app/__init__.py": "OWNER = 'webshop'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: webshop\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    wheel = folder / "webshop-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def write_users_folder(folder: Path, body: str) -> Path:
    """A folder with packages called as ours are in a checkout, each of them this body."""
    for room in ROOMS:
        (folder / room).mkdir(parents=True)
        (folder / room / "__init__.py").write_text(body, "utf-8")
    return folder


def write_hostile_folder(folder: Path) -> Path:
    """As above, and with a `numpy.py`; none of it can be imported."""
    body = "raise ImportError(f'{__name__} is the user\\'s own')\n"
    write_users_folder(folder, body)
    (folder / "numpy.py").write_text(body, "utf-8")
    return folder


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment; it has no pip of its own and is filled from outside."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Environment:
        venv.create(folder, symlinks=True)
        return cls(folder)

    @property
    def site(self) -> Path:
        (site,) = self.folder.glob("lib/python3*/site-packages")
        return site

    def install(self, *wheels: Path) -> None:
        """To be called before `see_development_packages`, whose own graphlap pip would find."""
        self.pip("install", "--quiet", "--no-deps", "--no-index", *map(str, wheels))

    def pip(self, *arguments: str) -> None:
        _pip("--python", self.script("python"), *arguments)

    def see_development_packages(self) -> None:
        folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (self.site / "development.pth").write_text("\n".join(folders) + "\n", "utf-8")

    def see_what_it_asks_for(self, extra: str = "") -> None:
        """Only the packages that graphlap, or an extra of it too, asks for, and what these do.

        Links to the development environment's, whose ONNX Runtime may be of another name.
        """
        (package,) = metadata.distributions(name="graphlap", path=[str(self.site)])
        waiting, seen_names = _requirements(package, extra), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen_names:
                seen_names.add(name)
                distribution = _find_distribution(name)
                waiting |= _requirements(distribution)
                for top in _top_folders(distribution):
                    place = self.site / top
                    if not place.exists():
                        place.symlink_to(Path(str(distribution.locate_file(top))))

    def script(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def variables(self, **overrides: str) -> dict[str, str]:
        """The variables of its processes; what they write for the user lies below its folder."""
        own_variables = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        places = {
            "GRAPHLAP_CACHE": str(self.folder / "cache"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "QT_QPA_PLATFORM": "offscreen",
        }
        return {**own_variables, **places, **overrides}

    def run(
        self, program: str, *arguments: str, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.script(program), *arguments],
            cwd=cwd,
            env=self.variables(**variables),
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )


def _requirements(distribution: metadata.Distribution, extra: str = "") -> set[str]:
    asked = map(Requirement, distribution.requires or ())
    return {a.name for a in asked if a.marker is None or a.marker.evaluate({"extra": extra})}


def _find_distribution(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return metadata.distribution(f"{name}-gpu")


def _top_folders(distribution: metadata.Distribution) -> set[str]:
    tops = {file.parts[0] for file in distribution.files or ()}
    return tops - {"..", "__pycache__"}


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    process = subprocess.run(command, cwd=ROOT.parent, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
