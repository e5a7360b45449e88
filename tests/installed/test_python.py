"""`import graphlap` in a user's project with packages called as ours are in a checkout."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from setup import inside_graphlap
from tests.checkout import ROOT
from tests.exporters.support import save_affine
from tests.installed.environment import Environment, write_users_folder

HEAVY = {"numpy", "onnxruntime", "pandas", "pydantic", "PySide6", "rich", "torch"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_users_folder(tmp_path / "project", "OWNER = 'user'\n")


def _run(environment: Environment, project: Path, script: str, *arguments: str) -> str:
    """What a script of the project prints."""
    (project / "script.py").write_text(script, "utf-8")
    process = environment.run("python", "script.py", *arguments, cwd=project)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


LOOKED_AT = """
import json, sys, graphlap
def loaded(): return sorted({name.partition(".")[0] for name in sys.modules})
first, names = loaded(), {}
graphlap.LayerBasedBenchmark
second = loaded()
exec("from graphlap import *", names)
print(json.dumps([graphlap.__version__, graphlap.__all__, [*names], first, second]))
"""


def test_importing_it_is_cheap_and_brings_the_names_of_the_python_page(
    installed: Environment, wheel: Path, project: Path
) -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    imported_names = re.findall(r"^from graphlap import (.+)$", page, re.MULTILINE)
    version, public, brought, first, second = json.loads(_run(installed, project, LOOKED_AT))
    assert version == wheel.name.split("-")[1]
    # A name that would hide one of Python's own is written with its package.
    whole = re.findall(r"\bgraphlap\.(\w+)\(", page)
    assert {*public} == {name for names in imported_names for name in names.split(", ")} | {*whole}
    assert {*public} <= {*brought}
    assert not HEAVY & {*first}
    assert not HEAVY - {"numpy", "pydantic"} & {*second}


TAKEN_AND_GIVEN = """
import graphlap.runtime as public
from types import FunctionType
from typing import get_args, get_type_hints

def classes(hint):
    parts = [hint, *get_args(hint)]
    yield from (one for one in parts if getattr(one, "__module__", "").startswith("graphlap."))
    for part in parts[1:]:
        yield from classes(part)

named = set()
for contract in (public.Runtime, public.Session, public.Lane):
    functions = [one for one in vars(contract).values() if isinstance(one, FunctionType)]
    for whole in (contract, *functions):
        for hint in get_type_hints(whole).values():
            named |= {one.__name__ for one in classes(hint)}
assert {"Request", "Execution", "Option"} <= named
print(*sorted(named - set(public.__all__)))
"""


def test_who_brings_a_runtime_can_import_all_that_it_takes_and_gives(
    installed: Environment, project: Path
) -> None:
    assert _run(installed, project, TAKEN_AND_GIVEN) == ""


IMPORTED_FIRST = """
import graphlap

try:
    graphlap.load_results("no-run-*")
except graphlap.ResultsError as error:
    print(isinstance(error, graphlap.GraphlapError))
import app, assets, exporters, runtimes
print(*(one.OWNER for one in (app, assets, exporters, runtimes)))
"""


def test_packages_of_the_user_can_be_imported_afterwards(
    installed: Environment, project: Path
) -> None:
    assert _run(installed, project, IMPORTED_FIRST).split() == ["True", *4 * ["user"]]


def test_the_card_computes_in_a_plain_onnxruntime_script(
    installed: Environment, project: Path
) -> None:
    example = ROOT / "assets" / "examples" / "fpga_plain_onnxruntime.py"
    script = inside_graphlap(example.read_text("utf-8"), str(example))
    save_affine(project / "affine.onnx")
    output = _run(installed, project, script, "affine.onnx", "batch=1")
    assert "y (1, 32)" in output
    assert "simulated on" in output
