"""Builds, packages and plugins of ONNX Runtime: which is installed decides."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtimes import registry
from runtimes.base import Available, Runtime, Unavailable
from runtimes.cuda import runtime
from runtimes.onnxruntime import opening
from runtimes.onnxruntime.runtime import OrtCpu, OrtEp
from tests.runtimes.stand_ins.fixtures import Driver

PROVIDERS = {"ort-cuda": "cuda", "ort-tensorrt": "tensorrt"}


Install = Callable[..., Path]


@pytest.fixture
def install(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """A folder in the place of the installed module: its libraries, and for which CUDA it is."""

    def install_wheel(*providers: str, cuda: str | None = None) -> Path:
        folder = tmp_path / "onnxruntime"
        (folder / "capi").mkdir(parents=True)
        (folder / "__init__.py").write_text('__version__ = "1.30.0"\n')
        for provider in providers:
            (folder / "capi" / f"libonnxruntime_providers_{provider}.so").touch()
        if cuda is not None:
            text = f"package_name = 'onnxruntime-gpu'\n__version__ = '1.30.0'\n{cuda}\n"
            (folder / "capi" / "build_and_package_info.py").write_text(text)
        monkeypatch.setattr(opening, "_folder", lambda: folder)
        return folder

    return install_wheel


def reason(name: str) -> str:
    state = registry.load(name).availability()
    assert isinstance(state, Unavailable)
    return f"{state.reason}; {state.remedy}"


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_build_for_processors_beside_a_gpu_is_told_as_that(name: str, install: Install) -> None:
    """Whatever libraries of CUDA another package has brought."""
    install()
    assert "1.30.0 that is installed was built without" in reason(name)
    assert "graphlap[gpu]" in reason(name)


@pytest.mark.parametrize("major", [12, 13, 14])
def test_a_build_is_asked_for_the_cuda_that_it_says_it_is_for(
    major: int, install: Install, driver: Driver
) -> None:
    install("cuda", cuda=f"cuda_version = '{major}.4'")
    driver.set(version=1000 * major)
    assert f"libcublasLt.so.{major}" in reason("ort-cuda")
    assert "libcufft" not in reason("ort-cuda"), "it is opened where a graph needs it"
    assert "libcudnn" not in reason("ort-cuda")
    driver.set(version=1000 * major - 1000)
    refusal = reason("ort-cuda")
    assert f"knows CUDA {major - 1}.0" in refusal
    assert f"built for CUDA {major}" in refusal


def test_a_cuda_12_build_runs_with_a_driver_of_cuda_12(
    install: Install, driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("cuda", cuda="cuda_version = '12.8'")
    driver.set(version=12080)
    source = tmp_path / "empty.c"
    source.write_text("")
    sonames = ("libcublasLt.so.12", "libcublas.so.12", "libcudart.so.12", "libcurand.so.10")
    folder = tmp_path / "wheels" / "nvidia" / "cublas" / "lib"
    folder.mkdir(parents=True)
    for soname in sonames:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / soname, source], check=True)
    monkeypatch.setattr(runtime, "wheel_folders", lambda: [folder])
    assert registry.load("ort-cuda").availability() == Available("1.30.0")


def link(folder: Path, name: str, soname: str, *libraries: Path) -> Path:
    """A library that the loader knows by `soname`, linked against others."""
    source, library = folder / "empty.c", folder / name
    source.write_text("int getInferLibVersion(void) { return 101601; }\n")
    options = ["-shared", "-fPIC", f"-Wl,-soname,{soname}", "-Wl,--no-as-needed"]
    subprocess.run(["cc", *options, "-o", library, source, *libraries], check=True)
    return library


def test_a_provider_is_asked_for_what_it_is_linked_against(
    install: Install, driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the installed build, whatever release of TensorRT it was built with."""
    capi = install("cuda", "tensorrt", cuda="cuda_version = '13.0'") / "capi"
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    sonames = (*runtime.of_cuda(13).sonames, "libcudnn.so.9", "libnvinfer.so.11")
    libraries = {soname: link(wheels, soname, soname) for soname in sonames}
    provider = "libonnxruntime_providers_tensorrt.so"
    link(capi, provider, provider, *libraries.values())
    monkeypatch.setattr(runtime, "wheel_folders", lambda: [wheels])
    state = registry.load("ort-tensorrt").availability()
    assert state == Available("1.30.0 with TensorRT 10.16.1")
    for name, remedy in (("libcudnn_absent.so.9", "gpu"), ("libnvinfer_absent.so.11", "tensorrt")):
        absent = link(tmp_path, name, name)
        link(capi, provider, provider, *libraries.values(), absent)
        assert name in reason("ort-tensorrt")
        assert f"graphlap[{remedy}]" in reason("ort-tensorrt")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `onnxruntime` that is found instead of the real one; it is never imported."""
    folder = tmp_path / "onnxruntime"
    (folder / "capi").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    return folder


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


def test_where_there_is_none_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _name: None)
    state = OrtCpu().availability()
    assert isinstance(state, Unavailable)
    assert state.remedy == "pip install 'graphlap[cpu]'"
