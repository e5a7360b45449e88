"""Whichever package installed ONNX Runtime, it is found, and one that is too old is told so."""

from __future__ import annotations

import sys
from pathlib import Path

import onnxruntime
import pytest

from runtimes.base import Available, Runtime, Unavailable
from runtimes.onnxruntime import opening
from runtimes.onnxruntime.runtime import OrtCpu, OrtEp


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `onnxruntime` that is found instead of the real one; it is never imported."""
    folder = tmp_path / "onnxruntime"
    (folder / "capi").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    return folder


def test_the_release_is_what_the_module_itself_says() -> None:
    assert opening.installed_release() == onnxruntime.__version__


def test_a_package_of_any_name_is_used(module: Path) -> None:
    (module / "__init__.py").write_text("import no_such\n__version__ = '1.28.0'\n", "utf-8")
    assert OrtCpu().availability() == Available("1.28.0")


@pytest.mark.parametrize(
    ("runtime", "version", "oldest"), [(OrtCpu(), "1.16.3", "1.17"), (OrtEp(), "1.23.2", "1.24")]
)
def test_one_that_is_too_old_is_refused(
    module: Path, runtime: Runtime, version: str, oldest: str
) -> None:
    (module / "__init__.py").write_text(f'__version__ = "{version}"\n', "utf-8")
    state = runtime.availability()
    assert isinstance(state, Unavailable)
    assert version in state.reason and oldest in state.reason
    assert state.remedy == "pip install --upgrade 'graphlap[cpu]'"


def test_on_the_cpu_an_old_one_will_do(module: Path) -> None:
    (module / "__init__.py").write_text('__version__ = "1.17.0"\n', "utf-8")
    assert OrtCpu().availability() == Available("1.17.0")


def test_where_there_is_none_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _name: None)
    state = OrtCpu().availability()
    assert isinstance(state, Unavailable)
    assert state.remedy == "pip install 'graphlap[cpu]'"


def test_a_build_for_processors_has_no_gpu_provider(module: Path) -> None:
    (module / "__init__.py").write_text('__version__ = "1.31.1"\n', "utf-8")
    (module / "capi" / "libonnxruntime_providers_shared.so").touch()
    assert not opening.has_provider("cuda")
    (module / "capi" / "libonnxruntime_providers_cuda.so").touch()
    assert opening.has_provider("cuda")
    assert not opening.has_provider("tensorrt")
