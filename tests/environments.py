"""Real other environments, made in an instant: their packages are links to those of this one."""

from __future__ import annotations

import venv
from importlib.util import find_spec
from pathlib import Path


def make_environment(folder: Path, *packages: str) -> Path:
    """The interpreter of a new virtual environment that has these packages and no other."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for package in packages:
        spec = find_spec(package)
        assert spec is not None and spec.origin is not None, package
        package_root = Path(spec.origin).parents[1]
        for part in (package, f"{package}.libs", f"{package}[-_]*.dist-info"):
            for path in package_root.glob(part):
                (site / path.name).symlink_to(path)
    return folder / "bin" / "python"


def write_program(path: Path, says: str) -> Path:
    """A program that prints one line whatever it is asked."""
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path
