"""The start of every child: `python -P boot.py first|last ROOT MODULE ARGUMENT…`.

Puts ROOT, the folder of our packages, in front of or behind all that can be imported, then
runs MODULE. Of the user's PYTHONPATH come last those folders that packages were installed to
(`pip install --target`), because engines may lie there; bare source folders stay out.
"""

import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    where, root, module, *arguments = sys.argv[1:]
    if where == "first":
        sys.path.insert(0, root)
    elif root not in sys.path:
        sys.path.append(root)
    for folder in os.environ.get("GRAPHLAP_PYTHONPATH", "").split(os.pathsep):
        if folder and folder not in sys.path and any(Path(folder).glob("*.dist-info")):
            sys.path.append(folder)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


main()
