"""How this program was started: the words that start it again from the same folder."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from app.plan.shell import shell_line
from exporters import own

_SCRIPT = "graphlap"
_MODULE = "__main__.py"
_PACKAGES = tuple(Path(__file__).parents[1:3])
"""`app`, and the package that holds it where we are installed."""


def graphlap_line(*words: str, here: Path | None = None) -> str:
    """A command line of this program, to be pasted into a shell whose folder is `here`."""
    return shell_line([*program(here), *words])


def program(here: Path | None = None) -> tuple[str, ...]:
    """`graphlap` if the shell finds it, else its path; `python -m app` if it was started so.

    Where another program holds us, as a notebook does, the usual words.
    """
    started = Path(sys.argv[0] if sys.argv else "")
    if started.name == _SCRIPT:
        return (_command(started, here),)
    if started.name == _MODULE and started.parent in _PACKAGES and sys.executable:
        package = own.PREFIX.rstrip(".") or "app"
        return _command(Path(sys.executable), here), "-m", package
    return tuple(own.PROGRAM.split())


def typed_path(path: Path, here: Path | None = None) -> str:
    """A path as it is typed in `here`: relative where it lies below."""
    try:
        return str(path.absolute().relative_to(here or Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _command(path: Path, here: Path | None) -> str:
    """What a shell calls a program: its name where that is what it finds. An interpreter of an
    environment is a link to another one, so links are not followed."""
    found = shutil.which(path.name)
    if found is not None and Path(found).absolute() == path.absolute():
        return path.name
    typed = typed_path(path, here)
    return typed if os.sep in typed else f"./{typed}"
