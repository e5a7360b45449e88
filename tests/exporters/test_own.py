"""A child of ours finds us and the real packages, whatever lies where it is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporters import install_layout
from exporters.codec import to_json
from exporters.messages import ExportRequest

BOOT = Path(install_layout.__file__).with_name("boot.py")

# Tells which of the modules that it is given by name can be imported.
FINDER = """
import sys
from importlib.util import find_spec
print([name for name in sys.argv[1:] if find_spec(name)])
"""


def _fill_with_our_names(folder: Path) -> Path:
    """What a user's own project may hold: modules called as ours or as what we need."""
    for package in ("app", "assets", "exporters", "runtimes"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text("raise ImportError('the package of a user')")
    for module in ("numpy", "json", "torch"):
        (folder / f"{module}.py").write_text("raise ImportError('the module of a user')")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return _fill_with_our_names(tmp_path / "project")


@pytest.fixture
def on_the_path(tmp_path: Path) -> Path:
    return _fill_with_our_names(tmp_path / "elsewhere")


def _run(
    module: str, *arguments: str, cwd: Path, pythonpath: Path, stdin_text: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        install_layout.command(module, *arguments),
        input=stdin_text,
        cwd=cwd,
        env=install_layout.child_environment({**os.environ, "PYTHONPATH": str(pythonpath)}),
        capture_output=True,
        text=True,
        check=False,
    )


def test_exports_go_on_beside_a_users_own_app_and_numpy(project: Path, on_the_path: Path) -> None:
    request = json.dumps(to_json(ExportRequest("mpl"))) + "\n"
    process = _run("exporters.worker", cwd=project, pythonpath=on_the_path, stdin_text=request)
    assert process.returncode == 0, process.stderr
    assert "did you mean 'mlp'" in json.loads(process.stdout)["reason"]


def test_a_round_starts_beside_a_users_own_app_and_numpy(project: Path, on_the_path: Path) -> None:
    process = _run("app.workers.measure", cwd=project, pythonpath=on_the_path)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == "this process reads one job from standard input\n"


def test_a_factory_file_may_import_what_only_the_users_path_has(
    project: Path, on_the_path: Path, tmp_path: Path
) -> None:
    (on_the_path / "sizes_of_mine.py").write_text("WIDTH = 6\n")
    file = project / "mine.py"
    file.write_text(
        "import torch\n"
        "from sizes_of_mine import WIDTH\n"
        "def factory():\n"
        "    raise ValueError(f'{torch.zeros(WIDTH).numel()} wide')\n"
    )
    request = ExportRequest(f"{file}:factory", cache_dir=str(tmp_path / "cache"))
    request_line = json.dumps(to_json(request)) + "\n"
    process = _run(
        "exporters.worker", cwd=tmp_path, pythonpath=on_the_path, stdin_text=request_line
    )
    assert "6 wide" in json.loads(process.stdout)["reason"]


def test_packages_installed_to_a_folder_of_the_path_can_be_imported_and_sources_cannot(
    tmp_path: Path,
) -> None:
    """An engine may lie where `pip install --target` has put it."""
    installed_folder, bare, root = (tmp_path / name for name in ("installed", "bare", "root"))
    (installed_folder / "an_engine-1.0.dist-info").mkdir(parents=True)
    (installed_folder / "an_engine.py").touch()
    bare.mkdir()
    (bare / "a_script.py").touch()
    root.mkdir()
    (root / "finder.py").write_text(FINDER)
    process = subprocess.run(
        [sys.executable, "-P", BOOT, "first", root, "finder", "an_engine", "a_script"],
        env=install_layout.child_environment(
            {**os.environ, "PYTHONPATH": f"{installed_folder}{os.pathsep}{bare}"}
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "['an_engine']\n"


def test_what_the_path_holds_comes_after_what_is_installed(tmp_path: Path) -> None:
    """A folder of installed packages may hold another numpy than the one that runs here."""
    installed_folder, root = tmp_path / "installed", tmp_path / "root"
    (installed_folder / "numpy-0.1.dist-info").mkdir(parents=True)
    (installed_folder / "numpy.py").write_text("raise ImportError('the module of a user')")
    root.mkdir()
    (root / "asker.py").write_text("import numpy\nprint(numpy.arange(2).sum())\n")
    process = subprocess.run(
        [sys.executable, "-P", BOOT, "first", root, "asker"],
        env=install_layout.child_environment({**os.environ, "PYTHONPATH": str(installed_folder)}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "1\n"


def test_a_child_does_not_hand_the_users_path_on_as_its_own() -> None:
    child = install_layout.child_environment({"PYTHONPATH": "/of/a/user", "HOME": "/home"})
    assert child == {install_layout.USER_PATH: "/of/a/user", "HOME": "/home"}
    assert install_layout.child_environment(child) == child
    assert install_layout.child_environment({"PYTHONPATH": ""}) == {}


def test_an_environment_finds_our_packages_and_no_engine_that_lies_beside_them(
    tmp_path: Path,
) -> None:
    """In a wheel they lie in site-packages: its engine would be measured under another's name."""
    engine_folder, path = tmp_path / "beside", tmp_path / "path"
    (engine_folder / "graphlap").mkdir(parents=True)
    (engine_folder / "graphlap" / "finder.py").write_text(FINDER)
    (engine_folder / "an_engine.py").touch()
    (path / "another_engine-1.0.dist-info").mkdir(parents=True)
    (path / "another_engine.py").touch()
    names = ("graphlap.finder", "an_engine", "another_engine", "numpy")
    process = subprocess.run(
        [sys.executable, "-P", BOOT, "for:.so:python", engine_folder, "graphlap.finder", *names],
        env=install_layout.child_environment({**os.environ, "PYTHONPATH": str(path)}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "['graphlap.finder', 'numpy']\n"
