"""Runtimes of other packages are found as ours are, and a bad one costs nobody else anything."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from runtimes.base import Available, Runtime, Unavailable
from runtimes.packaged import load, read
from runtimes.registry import RUNTIMES
from tests.app.cli.headless.batch import rows
from tests.checkout import ROOT
from tests.exporters.support import save_affine
from tests.processes import Ended, python
from tests.runtimes.packages import SOUND, example, installed, installed_as_told
from tests.runtimes.processes import printed


def loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str = "{module}:Sound"
) -> Runtime:
    """The runtime `sound` of a package with this one module, which no other test imports."""
    module = f"module_of_{folder.name}"
    installed(folder, "their-package", {"sound": target.format(module=module)}, {module: source})
    monkeypatch.syspath_prepend(str(folder))
    return load(read(RUNTIMES, [str(folder)]).runtimes["sound"])


def why_not(runtime: Runtime) -> str:
    state = runtime.availability()
    assert isinstance(state, Unavailable)
    assert "pip uninstall their-package" in state.remedy
    return state.reason


def test_a_runtime_of_a_package_is_one_like_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = loaded(tmp_path, monkeypatch, SOUND)
    assert runtime.availability() == Available("7")
    assert runtime.summary == "a runtime of a package"


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("import no_such_engine", "{module}:Sound", "ModuleNotFoundError: No module named"),
        ("def broken(:", "{module}:Sound", "SyntaxError"),
        ("raise SystemExit('bye')", "{module}:Sound", "SystemExit: bye"),
        (SOUND, "no_such_module:Sound", "No module named 'no_such_module'"),
        (SOUND, "{module}:Sund", "no attribute 'Sund'"),
        ("Sound = 7", "{module}:Sound", "no class made from graphlap.runtime.Runtime"),
        ("class Sound: pass", "{module}:Sound", "no class made from graphlap.runtime.Runtime"),
        (SOUND.replace("_compile", "compiled"), "{module}:Sound", "abstract method"),
        (SOUND.replace("summary", "about"), "{module}:Sound", "no attribute 'summary'"),
        (SOUND.replace('"sound"', '"round"'), "{module}:Sound", "calls itself 'round'"),
        (SOUND, "what is this", "can't be loaded"),
    ],
)
def test_one_that_can_not_be_had_is_unavailable_with_the_reason(
    source: str, target: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = why_not(loaded(tmp_path, monkeypatch, source, target))
    assert "the package their-package 1.0 brings it" in reason
    assert told in reason
    assert "\n" not in reason


def test_names_that_can_not_be_given_away_are_refused_with_a_remedy(tmp_path: Path) -> None:
    folder = installed(tmp_path, "one", {"ort-cpu": "a:A", "My.Engine": "a:A", "twice": "a:A"}, {})
    installed(folder, "other", {"twice": "b:B", "good": "b:B"}, {})
    catalogue = read(RUNTIMES, [str(folder)])
    assert list(catalogue.runtimes) == ["good"]
    assert catalogue.refused.keys() == {"ort-cpu", "My.Engine", "twice"}
    assert "one 1.0 offers" in catalogue.refused["ort-cpu"].reason
    assert "Graphlap's own" in catalogue.refused["ort-cpu"].reason
    assert {"one", "other"} <= set(catalogue.refused["twice"].reason.split())
    assert all(refusal.remedy for refusal in catalogue.refused.values())


def test_a_damaged_file_of_one_package_hides_no_other(tmp_path: Path) -> None:
    installed(tmp_path, "good", {"good": "a:A"}, {})
    installed_as_told(tmp_path, "torn", "[graphlap.runtimes]\nno equals sign\n", {})
    installed_as_told(tmp_path, "unrelated", "[console_scripts]\nno equals sign\n", {})
    catalogue = read(RUNTIMES, [str(tmp_path)])
    assert list(catalogue.runtimes) == ["good"]
    (refusal,) = catalogue.refused.values()
    assert "can't be read" in refusal.reason


def test_a_process_that_measures_a_runtime_of_ours_starts_without_looking_for_others() -> None:
    """What is installed takes milliseconds to read, which a cold start would count."""
    script = (
        "import sys\n"
        "from runtimes import registry\n"
        "registry.load('fake')\n"
        "print(*[name for name in sys.modules if name.endswith(('metadata', 'packaged'))])\n"
        "registry.names()\n"
        "print(*[name for name in sys.modules if name.endswith('packaged')])\n"
    )
    modules_before, modules_after = printed(script).splitlines()
    assert modules_before == ""
    assert modules_after


SPOILT = """
import pytest
from graphlap.contract import RuntimeContract
from graphlap_numpy.operators import OPERATORS

class TestSpoilt(RuntimeContract):
    name = "numpy"

    @pytest.fixture(autouse=True)
    def tanh_does_nothing(self, monkeypatch):
        monkeypatch.setitem(OPERATORS, "Tanh", OPERATORS["Identity"])
"""
# Of an environment whose `graphlap` may be another edition, as in the process of a sweep.
PYTEST = """
import sys
from exporters import install_layout
install_layout.answer_to_our_name()
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, and beside it a package whose engine is not there."""
    target = example(tmp_path_factory.mktemp("example"))
    sources = {"broken_runtime": "import no_such_engine\n"}
    installed(target, "their-broken", {"broken": "broken_runtime:Broken"}, sources)
    return target


def run(package: Path, *arguments: str, cwd: Path) -> Ended:
    path = os.pathsep.join([str(ROOT), str(package)])
    own = {"PYTHONPATH": path, "GRAPHLAP_CACHE": str(package.parent / "cache")}
    return python(*arguments, cwd=cwd, env=os.environ | own)


def test_it_is_measured_in_its_own_process_and_a_broken_one_costs_only_its_row(
    package: Path, tmp_path: Path
) -> None:
    save_affine(tmp_path / "affine.onnx")
    names = ("--runtimes", "numpy,broken", "--models", "affine.onnx", "--batch", "2")
    flags = (*names, "--preset", "brief", "--rounds", "1", "--out", "run")
    process = run(package, "-m", "app", "--headless", *flags, cwd=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    row_by_runtime = {row["runtime"]: row for row in rows(tmp_path / "run")}
    numpy_row, broken_row = row_by_runtime["numpy"], row_by_runtime["broken"]
    assert (numpy_row["status"], numpy_row["output_ok"]) == ("ok", "true")
    assert numpy_row["execution_provider"] == "numpy"
    assert int(numpy_row["iterations"]) > 100
    assert broken_row["status"] == "unavailable"
    assert "their-broken 1.0" in broken_row["reason"]
    assert "No module named 'no_such_engine'" in broken_row["reason"]
    manifest = (tmp_path / "run" / "manifest.json").read_text("utf-8")
    assert re.search(r'"graphlap-numpy": "1.0"', manifest)


@pytest.mark.rare
def test_its_own_tests_hold_it_to_the_contract(package: Path) -> None:
    source = package.parent / "source"
    (source / "tests" / "test_spoilt.py").write_text(SPOILT, "utf-8")
    process = run(
        package, "-c", PYTEST, "-q", "-rpf", "-p", "no:cacheprovider", "tests", cwd=source
    )
    outcomes = re.findall(r"^(PASSED|FAILED) \S+::(Test\w+)::(\w+)", process.stdout, re.MULTILINE)
    passed_names = [
        name
        for outcome, class_name, name in outcomes
        if (outcome, class_name) == ("PASSED", "TestNumpy")
    ]
    failed_tests = {
        (class_name, name) for outcome, class_name, name in outcomes if outcome == "FAILED"
    }
    assert len(passed_names) > 30, process.stdout + process.stderr
    assert {class_name for class_name, _ in failed_tests} == {"TestSpoilt"}
    assert ("TestSpoilt", "test_outputs_agree_with_the_reference") in failed_tests
    assert "where False = agrees(" in process.stdout, "a failure says what was compared"
