"""The start of every child: `python -P boot.py first|last|for:SUFFIX:PYTHON ROOT MODULE ARGUMENT…`.

Puts ROOT, the folder of our packages, in front of or behind all that can be imported, then
runs MODULE. Of the user's PYTHONPATH come last those folders that packages were installed to
(`pip install --target`), because engines may lie there; bare source folders stay out.

With `for:…` this is the interpreter of another environment and PYTHON the one that started it,
whose compiled extensions end in SUFFIX. ROOT may hold the starter's engines, so our packages alone
are found there, and the rest of what can be imported is what the environment has.
"""

import os
import runpy
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

SUFFIX, STARTER = "GRAPHLAP_EXTENSION_SUFFIX", "GRAPHLAP_PYTHON"


class OurPackages:
    """Finds the packages that MODULE is of in ROOT, before anything of the same name."""

    def __init__(self, root: str, module: str) -> None:
        self._root = [root]
        package_names = {"graphlap"}, {"app", "assets", "exporters", "runtimes"}
        self._names = next(names for names in package_names if module.partition(".")[0] in names)

    def find_spec(self, name: str, path: object = None, _: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, self._root) if name in self._names else None


def main() -> None:
    where, root, module, *arguments = sys.argv[1:]
    for variable in (SUFFIX, STARTER):
        os.environ.pop(variable, None)
    kind, *starter = where.split(":", 2)
    if kind == "for":
        os.environ[SUFFIX], os.environ[STARTER] = starter
        sys.meta_path.insert(0, OurPackages(root, module))
    elif kind == "first":
        sys.path.insert(0, root)
    elif root not in sys.path:
        sys.path.append(root)
    for folder in os.environ.get("GRAPHLAP_PYTHONPATH", "").split(os.pathsep):
        installed_to = folder and any(Path(folder).glob("*.dist-info"))
        if kind != "for" and installed_to and folder not in sys.path:
            sys.path.append(folder)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


main()
