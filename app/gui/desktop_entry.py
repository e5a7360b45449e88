"""Puts the window among the desktop's applications: a `.desktop` file and its icon.

Stands alone because it needs no Qt: it also runs where no window could be opened.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from exporters import install_layout
from exporters.types import GraphlapError


def install_desktop(data_home: Path | None = None) -> tuple[Path, Path]:
    """Write the entry and the icon below `data_home` and return both paths.

    `data_home` is XDG's data folder of the user where it is not given. GraphlapError where
    the platform knows no desktop entries or the folder can't be written.
    """
    if data_home is None:
        if not sys.platform.startswith("linux"):
            raise GraphlapError(
                f"desktop entries are not known on {sys.platform}",
                f"start it with {install_layout.PROGRAM}",
            )
        data_home = _data_home()
    entry = data_home / "applications" / "graphlap.desktop"
    icon = data_home / "icons" / "hicolor" / "scalable" / "apps" / "graphlap.svg"
    text = install_layout.asset("graphlap.desktop").read_text("utf-8")
    try:
        for path in (entry, icon):
            path.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text(text.replace("@EXEC@", _command()), "utf-8")
        icon.write_bytes(install_layout.asset("icons", "graphlap.svg").read_bytes())
    except OSError as error:
        raise GraphlapError(
            f"{error.filename} can't be written ({error.strerror})",
            "set XDG_DATA_HOME to a folder that can",
        ) from None
    return entry, icon


def _data_home() -> Path:
    data_home = os.environ.get("XDG_DATA_HOME", "")
    return Path(data_home) if data_home else Path.home() / ".local" / "share"


def _command() -> str:
    """What starts the window: the installed script, else this interpreter with the module."""
    executable = Path(sys.executable).with_name("graphlap-gui")
    script = str(executable) if executable.is_file() else shutil.which("graphlap-gui")
    parts = [script] if script else install_layout.command("app")
    return shlex.join(parts).replace("%", "%%")
