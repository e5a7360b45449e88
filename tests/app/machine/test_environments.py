"""What another interpreter is and has, or the one sentence on why nothing is measured in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.machine.installed_runtimes import (
    asked,
    availability,
    availability_of,
    check_availability_of,
    interpreter,
    runtime_of,
)
from runtimes.base import Available, Unavailable
from tests.environments import make_environment, write_program


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_environment(tmp_path_factory.mktemp("environment"), "numpy", "onnxruntime")


def refusal(python: Path | str) -> str:
    with pytest.raises(PlanError) as caught:
        asked("other", interpreter(str(python)))
    return str(caught.value)


def test_an_environment_tells_what_it_has_and_what_it_lacks(python: Path) -> None:
    environment, environments = asked("other", str(python)), {"other": str(python)}
    assert environment.runtimes["ort-cpu"].availability == availability("ort-cpu")
    lacking = environment.runtimes["openvino-cpu"].availability
    remedy = f"{python} -m pip install openvino"
    assert lacking == Unavailable("OpenVINO is not installed", remedy)
    local_state = availability_of("torch-cpu", {})
    other_state = availability_of("torch-cpu@other", environments)
    assert isinstance(local_state, Available) and isinstance(other_state, Unavailable)
    runtime = runtime_of("ort-cuda@other", environments)
    assert runtime.name == "ort-cuda" and runtime.devices() == ()
    # Whether cases can be checked there is asked for each device.
    assert check_availability_of("ort-cpu@other", environments) == availability("ort-cpu")
    lacking = check_availability_of("tensorrt-rtx:sm89@other", environments)
    assert isinstance(lacking, Unavailable) and "is not installed" in lacking.reason
    devices = runtime_of("tensorrt-rtx@other", environments).devices()
    assert "sm89" in {device.key for device in devices}


def test_a_path_without_an_interpreter_is_refused_and_a_link_to_one_not_followed(
    tmp_path: Path, python: Path
) -> None:
    """A virtual environment is one by its link; what it points to has other packages."""
    nowhere = tmp_path / "bin" / "python"
    assert f"'other' has no interpreter at {nowhere} (No such file" in refusal(nowhere)
    assert f"give {python}" in refusal(python.parents[1])
    assert python.is_symlink()
    assert interpreter(str(python)) == str(python)
    assert Path(interpreter("true")).is_absolute()


def test_packages_of_the_users_path_are_not_those_of_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its engine would be measured under the other's name."""
    (tmp_path / "openvino-1.0.dist-info").mkdir()
    (tmp_path / "openvino-1.0.dist-info" / "METADATA").write_text("Name: openvino\nVersion: 1.0\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = make_environment(tmp_path / "environment", "numpy")
    state = asked("path", str(python)).runtimes["openvino-cpu"].availability
    assert isinstance(state, Unavailable)


@pytest.mark.parametrize("says", ["CPython 2.7.18", "CPython 3.10.14", "PyPy 3.11.13"])
def test_another_python_is_refused_by_its_name(tmp_path: Path, says: str) -> None:
    message = refusal(write_program(tmp_path / "python", says))
    assert f"'other' is {says}: give an interpreter of CPython 3.11 or later" in message
    assert "true is no Python interpreter" in refusal("true")
    assert "is no Python interpreter" in refusal(write_program(tmp_path / "p", "Python, honestly"))


def test_an_environment_without_numpy_is_refused_with_what_installs_it(tmp_path: Path) -> None:
    python = make_environment(tmp_path)
    assert f"lacks numpy, which a measuring process needs: {python} -m pip" in refusal(python)
    (site,) = tmp_path.glob("lib/python*/site-packages")
    (site / "numpy.py").write_text("raise ImportError('torn')")
    assert "can't list its runtimes (ImportError: torn)" in refusal(python)
