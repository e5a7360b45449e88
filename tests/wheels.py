"""Wheels that install in an instant and without a network: their packages are those of this one."""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest


def write_wheel(folder: Path, package: str, version: str) -> Path:
    """A wheel of any version that brings the package that is installed here."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None, package
    info = f"{package}-{version}.dist-info"
    contents = {
        f"{package}_is_here.pth": f"{Path(spec.origin).parents[1]}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    contents[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*contents, f"{info}/RECORD"))
    path = folder / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in contents.items():
            file.writestr(name, text)
    return path


def install_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip and uv find what lies in this folder, and nothing else."""
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
