"""Builds, packages, plugins and older releases of ONNX Runtime: which is installed decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import onnx
import onnxruntime as ort
import pytest

from exporters import install_layout
from exporters.types import ExportedModel
from runtimes import registry
from runtimes.base import Available, Runtime, Unavailable
from runtimes.cuda import runtime
from runtimes.errors import Unsupported
from runtimes.onnxruntime import native as native_api
from runtimes.onnxruntime import opening
from runtimes.onnxruntime.errors import LaterIrVersion, compile_fault
from runtimes.onnxruntime.runtime import OrtCpu, OrtEp
from runtimes.options import Settings
from tests.runtimes.contract import computes, reference_of
from tests.runtimes.graphs import Graphs, quantised_conv
from tests.runtimes.stand_ins.fixtures import Driver, shared_library

PROVIDERS = {"ort-cuda": "cuda", "ort-tensorrt": "tensorrt"}


Install = Callable[..., Path]


@pytest.fixture
def install(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """A folder in the place of the installed module: its libraries, and for which CUDA it is."""

    def install_wheel(*providers: str, version: str = "1.30.0", cuda: str | None = None) -> Path:
        folder = tmp_path / "onnxruntime"
        (folder / "capi").mkdir(parents=True)
        (folder / "__init__.py").write_text(f"import no_such\n__version__ = '{version}'\n")
        for provider in providers:
            (folder / "capi" / f"libonnxruntime_providers_{provider}.so").touch()
        if cuda is not None:
            text = f"package_name = 'onnxruntime-gpu'\n__version__ = '1.30.0'\n{cuda}\n"
            (folder / "capi" / "build_and_package_info.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
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


def link(folder: Path, name: str, soname: str, *libraries: Path) -> Path:
    """A library that the loader knows by `soname`, linked against others."""
    options = [f"-Wl,-soname,{soname}", "-Wl,--no-as-needed"]
    source = "int getInferLibVersion(void) { return 101601; }"
    return shared_library(folder / name, source, options, libraries)


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


def test_a_package_of_any_name_is_used(install: Install) -> None:
    install(version="1.28.0")
    assert OrtCpu().availability() == Available("1.28.0")


@pytest.mark.parametrize(
    ("runtime", "version", "oldest"), [(OrtCpu(), "1.16.3", "1.17"), (OrtEp(), "1.23.2", "1.24")]
)
def test_one_that_is_too_old_is_refused(
    install: Install, runtime: Runtime, version: str, oldest: str
) -> None:
    install(version=version)
    state = runtime.availability()
    assert isinstance(state, Unavailable)
    assert version in state.reason and oldest in state.reason
    assert state.remedy == "pip install --upgrade 'graphlap[cpu]'"


def test_where_there_is_none_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _name: None)
    state = OrtCpu().availability()
    assert isinstance(state, Unavailable)
    assert state.remedy == "pip install 'graphlap[cpu]'"


CALLS = pytest.mark.parametrize("call", ["c", "python"])


@pytest.fixture
def reports_no_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine of today without what release 1.24 added."""
    if not install_layout.extension("runtimes.onnxruntime._native_base"):
        pytest.skip("the extension that finds ONNX Runtime's C functions was not built")
    older = replace(native_api.native("module"), full_api=None)
    monkeypatch.setattr(native_api, "native", lambda _build: older)
    name = "get_provider_graph_assignment_info"
    (owner,) = (kind for kind in ort.InferenceSession.__mro__ if name in vars(kind))
    monkeypatch.delattr(owner, name)
    yield


@CALLS
@pytest.mark.usefixtures("reports_no_nodes")
def test_placement_and_precision_come_from_the_profile(graphs: Graphs, call: str) -> None:
    settings = Settings(threads=1, options={"call": call})
    with OrtCpu().compile(graphs.dense, {"batch": 1}, settings) as session:
        execution = session.execution
    assert execution.precision == "fp32"
    assert execution.placement and execution.elsewhere == ()
    assert {placement.provider for placement in execution.placement} == {"CPUExecutionProvider"}
    assert all(placement.node and placement.op for placement in execution.placement)
    model = quantised_conv(graphs, "quantised")
    with OrtCpu().compile(model, {"batch": 1}, replace(settings, precision="int8")) as session:
        assert session.execution.precision == "int8"
    # Without inputs for a run that is recorded.
    unread = graphs.of_text("unread", "(float[4] x) => (float[4] y) { y = Relu(x) }")
    with OrtCpu().compile(unread, {}, settings) as session:
        execution = session.execution
    assert execution.precision == "unknown", "the profile alone has the types"
    assert execution.elsewhere == (), "the CPU's is the only provider that is registered"


def test_a_module_that_lends_no_c_functions_is_called_from_python(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_build: str) -> native_api.Native:
        raise Unsupported("the Python module lends its C functions to nobody", "use call=python")

    monkeypatch.setattr(native_api, "native", refuse)
    with OrtCpu().compile(graphs.dense, {"batch": 1}, Settings()) as session:
        assert "C binding" in session.execution.call_path
    with pytest.raises(Unsupported, match="call=python"):
        OrtCpu().compile(graphs.dense, {"batch": 1}, Settings(options={"call": "c"}))


@pytest.fixture
def newest_ir(graphs: Graphs) -> int:
    """The latest IR version that this engine opens."""
    model = at_version(graphs.of_text("far", "(float[4] x) => (float[4] y) { y = Relu(x) }"), 999)
    with pytest.raises(Exception) as caught:
        ort.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    fault = compile_fault(caught.value)
    assert isinstance(fault, LaterIrVersion) and fault.of_file == 999
    return fault.newest


def at_version(model: ExportedModel, version: int) -> ExportedModel:
    proto = onnx.load(model.path)
    proto.ir_version = version
    path = Path(model.path).with_stem("later")
    onnx.save(proto, path)
    return replace(model, path=str(path))


@CALLS
def test_a_later_ir_version_that_nothing_needs_is_opened_as_a_copy(
    graphs: Graphs, newest_ir: int, call: str
) -> None:
    if newest_ir >= onnx.IR_VERSION:
        pytest.skip("this engine opens every version that onnx knows")
    model = at_version(graphs.dense, newest_ir + 1)
    content_before = Path(model.path).read_bytes()
    settings = Settings(threads=1, options={"call": call})
    with OrtCpu().compile(model, {"batch": 1}, settings) as session:
        (warning,) = session.execution.warnings
        expected = reference_of(model, 1)
        (lane,) = session.lanes
        assert computes(lane, expected)
    assert warning.code == "ir_version_lowered"
    assert warning.parameters == {"of_file": newest_ir + 1, "opened": newest_ir}
    assert Path(model.path).read_bytes() == content_before


def test_a_file_that_needs_its_ir_version_is_refused_with_what_needs_it(
    graphs: Graphs, newest_ir: int
) -> None:
    kind = {13: "FLOAT6E2M3"}.get(newest_ir)
    if kind is None or newest_ir >= onnx.IR_VERSION:
        pytest.skip("no type is known that this engine's next version brought")
    model = at_version(graphs.dense, newest_ir + 1)
    proto = onnx.load(model.path)
    narrow = onnx.TensorProto(name="narrow", dims=[0], data_type=getattr(onnx.TensorProto, kind))
    proto.graph.initializer.append(narrow)
    Path(model.path).write_bytes(proto.SerializeToString())
    with pytest.raises(Unsupported, match=kind):
        OrtCpu().compile(model, {"batch": 1}, Settings())
