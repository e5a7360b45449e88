"""`python -m tests.installed.check [TEST…]`: the suite and the starter sweep on an installed wheel.

The suite, whole where no tests are named, is copied without our modules, so that it can only find
those of the wheel; what its import statements name, and strings for Python to look up, is moved
into `graphlap` as theirs are.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.installed.environment import (
    ROOMS,
    Environment,
    build_wheel,
    copy_sources,
    write_hostile_folder,
    write_other_distribution,
)

# They are about the checkout: its import contracts, a copy of its sources, the wheel made of it.
LEFT_OUT = (
    "--deselect=tests/test_architecture.py::test_import_contracts_hold",
    "--deselect=tests/test_architecture.py::test_no_two_folders_import_each_other",
    "--deselect=tests/exporters/pytorch/test_to_onnx.py"
    "::test_two_processes_in_two_checkouts_write_the_same_bytes",
    "--deselect=tests/test_architecture.py::test_no_file_is_longer_than_anybody_reads",
    "--deselect=tests/app/run_folder/test_clock_steps.py"
    "::test_nothing_is_timed_by_the_clock_on_the_wall",
    "--ignore=tests/installed",
)
_PACKAGE_NAMES = re.compile(
    rf"""(\bfrom |"-m",\s+"|setattr\("|files\(")(?=(?:{"|".join(ROOMS)})\b)"""
)


def main() -> int:
    """Run both and return 1 if one of them fails."""
    with TemporaryDirectory(prefix="graphlap-wheel-") as name:
        folder = Path(name)
        wheel = build_wheel(copy_sources(folder / "sources"), folder / "wheel")
        environment = Environment.create(folder / "venv")
        environment.install(write_other_distribution(folder), wheel)
        environment.see_development_packages()
        suite = copy_suite(folder / "suite")
        hostile = write_hostile_folder(folder / "hostile")
        sweep = ("--headless", "--suite", "starter", "--rounds", "1", "--out", "run")
        tests = ("-m", "tests", *sys.argv[1:], "-p", "no:cacheprovider", *LEFT_OUT)
        failed_steps = [
            _run(environment, suite, "python", *tests),
            _run(environment, hostile, "graphlap", *sweep),
        ]
    return int(any(failed_steps))


def copy_suite(destination: Path) -> Path:
    """The checkout without the modules that the wheel has, its tests moved with them."""
    for path in copy_sources(destination).rglob("*.py"):
        relative_path = path.relative_to(destination)
        if relative_path.parts[0] in ROOMS and not relative_path.is_relative_to("assets/examples"):
            path.unlink()
        else:
            path.write_text(_PACKAGE_NAMES.sub(r"\1graphlap.", path.read_text("utf-8")), "utf-8")
    return destination


def _run(environment: Environment, cwd: Path, program: str, *arguments: str) -> int:
    command = (environment.script(program), *arguments)
    return subprocess.run(command, cwd=cwd, env=environment.variables(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
