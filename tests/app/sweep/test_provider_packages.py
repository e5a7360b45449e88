"""A run remembers the library that an execution provider's package brings, by its content."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.plan.expand import expand
from app.run_folder.manifest import fingerprints
from app.runs.reader import read_run
from app.sweep.resumption import reject_changed
from app.sweep.run_creation import create_run
from exporters import install_layout
from tests.app.sweep.sweeps import small_plan
from tests.environments import make_environment

OURS = f"ort-ep:{install_layout.module_name('runtimes.fpga.provider')}"
PACKAGE = "onnxruntime_ep_fake"
INIT = """
from pathlib import Path

def get_library_path():
    return str(Path(__file__).with_name("provider.so"))

def get_ep_name():
    return "FakeExecutionProvider"
"""


@pytest.fixture
def work(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    return tmp_path


def test_another_build_in_an_environment_is_noticed(work: Path) -> None:
    python = str(make_environment(work / "there", "numpy", "onnxruntime"))
    (site,) = (work / "there").glob("lib/python*/site-packages")
    package, runtime = site / PACKAGE, f"ort-ep:{PACKAGE}@there"
    package.mkdir()
    (package / "__init__.py").write_text(INIT)
    (package / "provider.so").write_bytes(b"one build")
    plan = small_plan(work, {"runtimes": [runtime]}, environments={"there": python})
    create_run(plan, work / "run").close()
    run = read_run(work / "run")
    (fingerprint,) = [entry for entry in run.manifest.fingerprints if entry.runtime]
    assert (fingerprint.path, fingerprint.runtime) == (str(package / "provider.so"), runtime)
    reject_changed(run, copies=False)
    (package / "moved.so").write_bytes(b"one build")
    (package / "__init__.py").write_text(INIT.replace("provider.so", "moved.so"))
    reject_changed(run, copies=False)  # the same library, wherever it lies
    (package / "moved.so").write_bytes(b"another build")
    with pytest.raises(PlanError, match="moved"):
        reject_changed(run, copies=False)
    shutil.rmtree(package)
    with pytest.raises(PlanError, match=PACKAGE):
        reject_changed(run, copies=False)


def test_what_is_measured_elsewhere_depends_on_no_package_here(work: Path) -> None:
    cases = expand(small_plan(work, {"runtimes": [OURS]}))
    assert [fingerprint.runtime for fingerprint in fingerprints(cases)] == ["", OURS]
    assert [fingerprint.runtime for fingerprint in fingerprints(cases, is_remote=True)] == [""]
