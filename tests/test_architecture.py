"""The rules that keep the rooms apart, on the real import graph and in real processes."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import grimp
import pytest

from tests.checkout import ROOT

ENGINES = {"torch", "onnxruntime", "openvino", "tensorrt", "tensorrt_rtx_bindings"}
MOST_LINES = 600


def test_import_contracts_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout


def test_no_two_folders_import_each_other() -> None:
    """Neither does a longer way of imports lead back to where it began."""
    graph = grimp.build_graph("app", "exporters", "runtimes", cache_dir=None)
    imports: defaultdict[str, set[str]] = defaultdict(set)
    for module in graph.modules:
        own_folder = _folder(module)
        imported_modules = graph.find_modules_directly_imported_by(module)
        imports[own_folder] |= {_folder(other) for other in imported_modules} - {own_folder}
    assert len(imports) > 20
    # Whoever imports nothing that is left is no part of a circle.
    while ends := [
        folder for folder, other_folders in imports.items() if not other_folders & imports.keys()
    ]:
        for folder in ends:
            del imports[folder]
    assert not imports


def _folder(module: str) -> str:
    """The folder of a module; a program's `__main__`, which nothing imports, stands by itself."""
    if module.endswith(".__main__"):
        return module
    return module if (ROOT / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]


def _python(script: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=check)


@pytest.mark.parametrize("arguments", [["models"], ["--help"]])
def test_the_parent_imports_no_engine_and_needs_no_qt(arguments: list[str]) -> None:
    """With Qt made impossible to import, as on a machine that has none."""
    script = (
        "import sys\n"
        "sys.modules['PySide6'] = sys.modules['pyqtgraph'] = None\n"
        "from app.__main__ import main\n"
        "try:\n"
        f"    code = main({arguments!r})\n"
        "except SystemExit as stop:\n"
        "    code = stop.code\n"
        "names = {name.partition('.')[0] for name in sys.modules if sys.modules[name]}\n"
        "sys.stderr.write(f'{code or 0} {sorted(names)}')\n"
    )
    process = _python(script)
    code, _, names = process.stderr.rpartition("\n")[2].partition(" ")
    assert code == "0", process.stderr
    assert not {name for name in ENGINES if f"'{name}'" in names}
    assert process.stdout


def test_a_sweep_is_planned_without_an_engine(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from app.plan.command_line import parse\n"
        "from app.plan.options import plan_from_options\n"
        "from app.plan.expand import expand\n"
        "from app.cli import headless\n"
        "cases = expand(plan_from_options(parse(['--models', 'cnn_tiny'])))\n"
        "assert cases\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    process = _python(script)
    assert not {name for name in ENGINES | {"PySide6"} if f"'{name}'" in process.stdout}


def test_a_run_has_its_first_line_before_what_looks_and_measures_is_imported() -> None:
    script = (
        "import sys\n"
        "from app.__main__ import main\n"
        "write = lambda log, text: sys.exit(print(*sys.modules))\n"
        "sys.stderr = type('Log', (), {'encoding': '', 'write': write})()\n"
        "main(['run', 'mlp'])\n"
    )
    process = _python(script, check=False)
    names = {name for module in process.stdout.split() for name in (module, module.split(".")[0])}
    assert "app" in names
    assert not names & {*ENGINES, "PySide6", "scipy", "onnx", "app.cli.headless", "app.sweep"}


def test_no_file_is_named_after_a_package_that_it_imports() -> None:
    packages = ENGINES | {"onnx", "numpy", "pandas", "pyarrow", "rich", "pydantic", "scipy"}
    clashes = [
        path
        for room in ("app", "exporters", "runtimes")
        for path in (ROOT / room).rglob("*.py")
        if path.stem in packages
    ]
    assert not clashes


def test_no_file_is_longer_than_anybody_reads() -> None:
    """What grows beyond has two things in it."""
    rooms = ("app", "exporters", "runtimes", "tests")
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    assert len(files) > 800
    lines = {path.name: path.read_text("utf-8").count("\n") for path in files}
    assert not {name: count for name, count in lines.items() if count > MOST_LINES}


def test_tests_of_a_package_lie_under_its_name() -> None:
    strays = {
        str(path.parent.relative_to(ROOT))
        for package in ("app", "exporters", "runtimes")
        for path in (ROOT / "tests" / package).rglob("test_*.py")
        if not (place := ROOT / path.parent.relative_to(ROOT / "tests")).is_dir()
        and not place.with_suffix(".py").is_file()
    }
    assert strays == {"tests/runtimes/gpu_checks"}  # of tests/gpu, with the fixtures of runtimes
