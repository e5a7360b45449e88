"""Check of an unpacked kit: compiled extensions load, and children find the engine of the parent.

`python -m tests.gpu.kit.environment_check FOLDER`, FOLDER being where the kit is unpacked. Prints a
line for each finding; exit code 1 if one of them is wrong.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from exporters import install_layout
from tests.gpu.kit.contents import ENGINE, ENGINE_MODULE, EXTENSIONS

MODULE = "tests.gpu.kit.environment_check"


def main(arguments: list[str]) -> int:
    if not arguments:
        print(origin())
        return 0
    folder = Path(arguments[0])
    wrong = [*unloaded_extensions()]
    command = install_layout.command(MODULE)
    environment = install_layout.child_environment()
    child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    origins = {"this process": origin(), "a child": child.stdout.strip() or child.stderr.strip()}
    expected = folder / ENGINE
    for place, path in origins.items():
        print(f"{ENGINE_MODULE} in {place}: {path}")
        if expected.is_dir() and not Path(path).is_relative_to(expected):
            wrong.append(f"{place} finds {ENGINE_MODULE} outside {expected} (got {path}).")
    for sentence in wrong:
        print(f"kit: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


def origin() -> str:
    """The file of the engine's module that an import here would take; `none` without one."""
    spec = find_spec(ENGINE_MODULE)
    return (spec.origin if spec else None) or "none"


def unloaded_extensions() -> list[str]:
    """A sentence for each compiled extension that this machine cannot use."""
    sentences = []
    for name in EXTENSIONS:
        path = install_layout.extension(name)
        try:
            if path is None:
                raise FileNotFoundError("not in the kit")
            ctypes.CDLL(str(path))
        except OSError as error:
            sentences.append(f"the extension {name} does not load ({error}). Build the kit again.")
    return sentences


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
