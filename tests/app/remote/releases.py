"""Graphlap of another release beside this one: a copy of it that calls itself otherwise."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.checkout import ROOT

PACKAGES = "app", "assets", "exporters", "runtimes"


@dataclass(frozen=True, slots=True)
class Release:
    """`command` starts one of its modules, which imports nothing of ours."""

    version: str
    root: Path

    def command(self, module: str, *arguments: str) -> Sequence[str]:
        boot = str(self.root / "exporters" / "boot.py")
        return (sys.executable, "-P", boot, "first", str(self.root), module, *arguments)


def release(version: str, folder: Path) -> Release:
    """Our packages, and metadata as an installation has them, in `folder`, which is not there."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package)
    metadata_folder = folder / f"graphlap-{version}.dist-info"
    metadata_folder.mkdir()
    (metadata_folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: graphlap\nVersion: {version}\n"
    )
    return Release(version, folder)
