"""Packages that bring runtimes, as pip leaves them in a folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.checkout import ROOT
from tests.processes import ended

SOUND = """
from graphlap.runtime import Available, Runtime

class Sound(Runtime):
    name = "sound"
    summary = "a runtime of a package"

    def availability(self):
        return Available("7")

    def _compile(self, request):
        raise NotImplementedError
"""


def installed(
    folder: Path, package: str, runtimes: Mapping[str, str], modules: Mapping[str, str]
) -> Path:
    """The folder with the package in it: its entry points and the sources of its modules."""
    points = "".join(f"{name} = {target}\n" for name, target in runtimes.items())
    return installed_as_told(folder, package, f"[graphlap.runtimes]\n{points}", modules)


def installed_as_told(
    folder: Path, package: str, entry_points: str, modules: Mapping[str, str]
) -> Path:
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    return folder


def example(folder: Path) -> Path:
    """The example package as `pip install --target` leaves it; its tests lie in `folder/source`."""
    source, target = folder / "source", folder / "target"
    shutil.copytree(ROOT / "assets" / "examples" / "numpy_runtime", source)
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target"]
    process = ended(*command, str(target), str(source))
    assert process.returncode == 0, process.stdout + process.stderr
    return target
