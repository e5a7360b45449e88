"""Which installed package this process loaded its engine from, read after it was loaded.

`importlib.metadata.packages_distributions` reads what every package has installed. Here it is
those packages first that are called like the engine, and the others where none of them has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runtimes.base import Runtime


def engine_facts(runtime: Runtime) -> dict[str, str]:
    """`engine_path` and `engine_distribution` of a round's result; empty where there is none."""
    file = runtime.engine_file()
    if file is None:
        return {}
    return {"engine_path": str(file), "engine_distribution": ", ".join(distributions_of(file))}


def distributions_of(file: Path) -> tuple[str, ...]:
    """The names of the packages that say they have installed this file; () for a file of none.

    Two packages may have written the same folder, as the builds of ONNX Runtime do.
    """
    for folder in file.parents:
        installed = sorted(folder.glob("*.dist-info"))
        if installed:
            inside = file.relative_to(folder)
            like = [one for one in installed if one.name.startswith(inside.parts[0])]
            others = [one for one in installed if one not in like]
            return tuple(_owners(like, inside)) or tuple(_owners(others, inside))
    return ()


def _owners(installed: list[Path], file: Path) -> Iterator[str]:
    for folder in installed:
        try:
            if f"\n{file.as_posix()}," in "\n" + (folder / "RECORD").read_text("utf-8"):
                yield _name(folder / "METADATA")
        except OSError:
            continue


def _name(metadata: Path) -> str:
    lines = metadata.read_text("utf-8").splitlines()
    return next((line[6:].strip() for line in lines if line.startswith("Name: ")), "")
