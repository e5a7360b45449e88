"""For which CUDA a Python package was built, read from the source file that says so."""

from __future__ import annotations

import ast
from pathlib import Path


def built_for(path: Path, name: str) -> int | None:
    """The major CUDA release that the module at `path` has under `name`; None if it has none.

    Read as text: importing an engine to ask it would load what may not load here.
    """
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None
    for node in tree.body:
        match node:
            case (
                ast.AnnAssign(target=ast.Name(id=found), value=ast.Constant(value=str(release)))
                | ast.Assign(targets=[ast.Name(id=found)], value=ast.Constant(value=str(release)))
            ) if found == name:
                major = release.partition(".")[0]
                return int(major) if major.isdecimal() else None
    return None
