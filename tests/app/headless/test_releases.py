"""`ort-cpu@1.20`: an environment that is made after asking, measured, and used again."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import onnxruntime
import pytest

from app.machine.release_environments import environments_folder
from tests.app.headless.batch import rows, run
from tests.wheels import install_from, write_wheel

RELEASE = ".".join(onnxruntime.__version__.split(".")[:2])
SPEC = f"ort-cpu@{RELEASE}"
MEASURED = ("run", "add.onnx", "--runtimes", SPEC, "--rounds", "1", "--out", "out")


@pytest.fixture
def wheels(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index that has this engine alone, and a cache without environments."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "wheels"
    folder.mkdir()
    install_from(folder, monkeypatch)
    write_wheel(folder, "onnxruntime", onnxruntime.__version__)
    write_wheel(folder, "numpy", "2.1.0")
    return folder


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


def answer(monkeypatch: pytest.MonkeyPatch, answer_text: str) -> Terminal:
    """Let somebody type this; what is asked is in the terminal that is given back."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer_text))
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.mark.usefixtures("wheels")
def test_without_a_terminal_the_command_that_installs_is_named(work: Path) -> None:
    code, _, errors = run(*MEASURED)
    assert code == 2
    assert f"--runtimes {SPEC}" in errors and "--install" in errors
    assert not (work / "out").exists() and not environments_folder().exists()


def test_with_the_option_it_is_made_measured_and_used_again(work: Path, wheels: Path) -> None:
    code, _, errors = run(*MEASURED, "--install")
    assert code == 0, errors
    (row,) = rows(work / "out")
    assert (row["status"], row["environment"]) == ("ok", RELEASE)
    assert row["runtime_version"] == onnxruntime.__version__
    (environment,) = environments_folder().iterdir()
    for wheel in wheels.iterdir():
        wheel.unlink()
    code, _, errors = run("run", "out", "--out", "again")
    assert code == 0, errors
    (again,) = rows(work / "again")
    assert again["case_id"] == row["case_id"]
    assert list(environments_folder().iterdir()) == [environment]


@pytest.mark.usefixtures("wheels")
def test_the_rest_of_a_run_needs_its_environment_again(work: Path) -> None:
    assert run(*MEASURED, "--install")[0] == 0
    (environment,) = environments_folder().iterdir()
    (environment / "bin" / "python").unlink()
    code, _, errors = run("resume", "out")
    assert code == 2 and "--install" in errors
    assert run("resume", "out", "--install")[0] == 0


@pytest.mark.usefixtures("wheels")
def test_a_person_is_asked(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.__main__ import main

    terminal = answer(monkeypatch, "\n")
    assert main(MEASURED) == 2
    assert f"onnxruntime=={RELEASE}.*" in terminal.getvalue()
    assert not environments_folder().exists()
    answer(monkeypatch, "y\n")
    assert main(MEASURED) == 0
    assert [row["status"] for row in rows(work / "out")] == ["ok"]


@pytest.mark.usefixtures("wheels")
def test_a_release_that_there_is_not_is_one_sentence(work: Path) -> None:
    code, _, errors = run("run", "add.onnx", "--runtimes", "ort-cpu@0.9", "--install")
    assert code == 2
    assert errors.splitlines()[-1].startswith("graphlap: ")
    assert "onnxruntime==0.9.*" in errors and "--python 0.9=PATH" in errors
    assert list(environments_folder().iterdir()) == []


@pytest.mark.usefixtures("wheels")
def test_a_name_of_the_users_own_is_no_release(work: Path) -> None:
    command = (*MEASURED, "--python", f"{RELEASE}={sys.executable}")
    code, _, errors = run(*command)
    assert code == 0, errors
    assert not environments_folder().exists()


@pytest.mark.rare
@pytest.mark.timeout(600)
def test_real_releases_of_the_index_measure_one_file_each_with_its_own_library(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    releases = ("1.17", "1.18", "1.22", "1.24")
    specs = ",".join(f"ort-cpu@{release}" for release in releases)
    command = ("run", "add.onnx", "--runtimes", specs, "--rounds", "1", "--out", "out", "--install")
    code, _, errors = run(*command)
    if code == 2 and "can't be installed" in errors:
        pytest.skip(errors.splitlines()[-1])
    assert code == 0, errors
    row_by_release = {row["environment"]: row for row in rows(work / "out")}
    assert row_by_release.keys() == set(releases)
    for release, row in row_by_release.items():
        assert (row["status"], row["output_ok"], row["precision"]) == ("ok", "true", "fp32")
        assert row["runtime_version"].startswith(f"{release}.")
        assert Path(row["engine_path"]).is_relative_to(environments_folder())
        is_lowered = "ir_version_lowered" in row["warning_codes"]
        assert is_lowered == (release == "1.17"), "1.18 is the first that opens IR version 10"
    assert len({row["model_sha256"] for row in row_by_release.values()}) == 1
