"""`graphlap` and `python -m graphlap`: the command, with the user's folders out of its way.

The current folder, which `-m` puts first, and PYTHONPATH may hold an `app/` or a `numpy.py`.
As in our children (`exporters/boot.py`), those of PYTHONPATH that packages were installed to
come last, and source folders stay out. Nothing else may be imported before that.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    _leave_the_users_folders()
    from app.cli.main import main as run

    return run()


def open_window() -> int:
    """`graphlap-gui`: open the window with the paths; returns its exit code."""
    if sys.argv[1:2] != ["open"]:
        sys.argv.insert(1, "open")
    return main()


def _leave_the_users_folders() -> None:
    python_path = os.environ.get("PYTHONPATH", "")
    users = (
        {os.path.abspath(folder) for folder in python_path.split(os.pathsep)}
        if python_path
        else set()
    )
    package_folders = [f for f in sys.path if f in users and _has_distributions(f)]
    sys.path[:] = [f for f in sys.path if f not in users] + package_folders


def _has_distributions(folder: str) -> bool:
    return os.path.isdir(folder) and any(n.endswith(".dist-info") for n in os.listdir(folder))


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder
    sys.exit(main())
