"""What a wheel holds, and a package with a runtime of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from setup import inside_graphlap
from tests.installed.environment import ROOMS, Environment, build_wheel, source_files

COMPILED = f".{sys.implementation.cache_tag}-"
READ = {".css", ".csv", ".js", ".py", ".pyi", ".qss", ".svg", ".toml", ".typed"}


def _contents(wheel: Path) -> dict[str, bytes]:
    """What we wrote; what was compiled and pip's metadata are no files of ours."""
    with ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if ".dist-info/" not in n and COMPILED not in n]
        return {name: archive.read(name) for name in names}


def _installed_name(path: Path) -> str:
    """Where a file of the checkout lies in the wheel."""
    below = path.relative_to("app/api") if path.is_relative_to("app/api") else path
    return f"graphlap/{below.as_posix()}"


def test_a_wheel_brings_one_name_to_site_packages(wheel: Path, installed: Environment) -> None:
    metadata = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    with ZipFile(wheel) as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {"graphlap", metadata}
    foreign_names = {"app", "webshop-1.0.dist-info", "development.pth"}
    assert {path.name for path in installed.site.iterdir()} - foreign_names == {
        "graphlap",
        metadata,
    }


def test_it_holds_each_module_and_what_the_program_reads_and_no_pictures(wheel: Path) -> None:
    package_files = [
        path for path in source_files() if path.parts[0] in ROOMS and path.suffix in READ
    ]
    expected = {
        _installed_name(path)
        for path in package_files
        if not path.is_relative_to("assets/examples")
    }
    fonts = [path for path in source_files() if path.is_relative_to("assets/fonts")]
    expected |= {_installed_name(path) for path in fonts if path.suffix != ".md"}
    assert set(_contents(wheel)) == expected


@pytest.mark.parametrize(
    "name", ["fpga/provider/_shim", "calls/_timed", "onnxruntime/_native_base"]
)
def test_it_holds_what_was_compiled(wheel: Path, name: str) -> None:
    with ZipFile(wheel) as archive:
        assert any(f"graphlap/runtimes/{name}{COMPILED}" in n for n in archive.namelist())


@pytest.mark.rare
def test_a_source_distribution_builds_the_same_wheel(
    sources: Path, wheel: Path, tmp_path: Path
) -> None:
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=sources, capture_output=True, check=True)
    (sdist,) = tmp_path.glob("graphlap-*.tar.gz")
    assert _contents(build_wheel(sdist, tmp_path)) == _contents(wheel)


def test_imports_of_ours_are_moved_and_nothing_else_is() -> None:
    source = (
        '"""Reads `from app.plan import x` in a docstring."""\n'
        "from app.cases.case import Case\n"
        "from exporters import install_layout\n"
        "from apple import pie\n"
        "import os, app_kit\n"
        "if TYPE_CHECKING:\n"
        "    from runtimes.base import (\n"
        "        Runtime,\n"
        "    )\n"
        "WORKER = 'from app.workers import measure', own.load('app.cli.benchmark:load_results')\n"
    )
    moved_source = source.replace("from app.cases", "from graphlap.app.cases")
    moved_source = moved_source.replace("from exporters", "from graphlap.exporters")
    moved_source = moved_source.replace("from runtimes", "from graphlap.runtimes")
    assert inside_graphlap(source, "x.py") == moved_source


@pytest.mark.parametrize("line", ["import app", "import os, runtimes.fpga", "import app.plan as p"])
def test_an_import_that_cannot_be_moved_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(ImportError, match=r"room/x\.py:3: `import .*` .* write it as `from"):
        inside_graphlap(f"import os\n\nif os: {line}\n", "room/x.py")
