"""Environments of a release: what is installed in one, where it lies, and one that fails."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.machine import release_environments as environments
from app.machine.installed_runtimes import asked
from app.machine.release_environments import ReleaseEnvironment, create, release_environments
from runtimes.base import Available
from tests.app.cli.headless.batch import run
from tests.wheels import install_from, write_wheel


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the package index has, in place of the real one."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "wheels"
    folder.mkdir()
    install_from(folder, monkeypatch)
    for package, version in (
        ("onnxruntime", "1.18.0"),
        ("onnxruntime", "1.18.2"),
        ("onnxruntime", "1.20.0"),
        ("numpy", "1.26.4"),
        ("numpy", "2.1.0"),
    ):
        write_wheel(folder, package, version)
    return folder


def of(release: str) -> ReleaseEnvironment:
    (environment,) = release_environments([f"ort-cpu@{release}"]).values()
    return environment


def test_only_the_release_of_an_engine_with_wheels_makes_an_environment() -> None:
    names = ["ort-cpu", "ort-cpu@spring", "ort-cpu@1.20", "openvino-cpu@2025.4.1", "fake@1.20"]
    names += ["fpga:v80@sdk26", "ort-cpu@1", "no-such@1.20", "ort-cpu@1.20.x"]
    assert release_environments(names) == {
        "1.20": ReleaseEnvironment("1.20", ("onnxruntime",)),
        "2025.4.1": ReleaseEnvironment("2025.4.1", ("openvino",)),
    }
    (both,) = release_environments(["torch-cpu@2.7", "ort-cpu@2.7"]).values()
    assert both.packages == ("onnxruntime", "torch") and both.folder != of("2.7").folder
    for release, numpy in (("1.17.3", "numpy<2"), ("1.18", "numpy<2"), ("1.19", "numpy")):
        assert of(release).requirements == (f"onnxruntime=={release}.*", numpy)


def test_the_newest_of_a_release_is_installed_listed_and_made_again() -> None:
    environment = of("1.18")
    old, new = (environments.environments_folder() / f".aside-{age}" for age in ("old", "new"))
    for aside in (old, new):
        (aside / "environment").mkdir(parents=True)
    os.utime(old, (0, 0))
    assert not environment.exists
    create(environment)
    assert not old.exists(), "a killed installation left it"
    assert new.exists(), "somebody may be at it now"
    lines = (environment.folder / environments.PINNED).read_text("utf-8").splitlines()
    assert {*lines} >= {"onnxruntime==1.18.2", "numpy==1.26.4"}
    answer = asked("1.18", environment.python)
    assert isinstance(answer.runtimes["ort-cpu"].availability, Available)
    other_python = environment.folder.parent / "onnxruntime-1.18-cpython-29-linux-x86_64"
    other_python.symlink_to(environment.folder)
    assert environments.usable() == (environment,)
    row = run("doctor", "-f", "json")[1].partition("onnxruntime@1.18")[2].partition("}")[0]
    assert environment.python in row and "ort-cpu" in row
    Path(environment.python).unlink()
    assert environments.usable() == () and not environment.exists, "its Python is gone"
    create(environment)
    subprocess.run([environment.python, "-c", "import numpy"], check=True)


def test_one_that_can_not_be_installed_leaves_nothing_or_names_another_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = of("0.9")
    with pytest.raises(PlanError, match=r"onnxruntime==0\.9\.\*"):
        create(failing)
    assert list(failing.folder.parent.iterdir()) == [], "it leaves nothing"
    monkeypatch.setattr(environments, "distributions", lambda name: iter(()))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PlanError, match="--python"):
        create(of("1.20"))
