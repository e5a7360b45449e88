"""TensorRT for RTX checks for a GPU that is not here, and runs on one that is, if it knows it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from runtimes import registry
from runtimes.base import Available, Runtime, Unavailable
from runtimes.cuda import driver as cuda_driver
from runtimes.errors import NotAvailable, Unsupported
from runtimes.options import Settings
from runtimes.tensorrt.build import TENSORRT_RTX
from tests.runtimes.contract import computes, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.stand_ins.fixtures import TESTED_RTX_RELEASE, Driver, installed

SM89, HERE = Settings(device="sm89"), Settings(device="0")


@pytest.fixture
def runtime() -> Runtime:
    return registry.load("tensorrt-rtx")


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "SONAME", "libgraphlap_absent.so.1")
    monkeypatch.setattr(cuda_driver, "library", cuda_driver.library.__wrapped__)


@pytest.mark.usefixtures("no_driver")
def test_without_a_driver_it_checks_for_a_gpu_that_is_named(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(TENSORRT_RTX, TESTED_RTX_RELEASE, monkeypatch)
    assert isinstance(runtime.availability(), Unavailable)
    assert runtime.check_availability("sm89") == Available(TESTED_RTX_RELEASE[0])
    availability = runtime.check_availability("")
    assert isinstance(availability, Unavailable)
    assert "tensorrt-rtx:sm89" in availability.remedy
    by_number = runtime.check_availability("0")
    assert isinstance(by_number, Unavailable)
    assert "driver" in by_number.remedy


def test_where_it_is_not_installed_the_extra_is_named(
    runtime: Runtime, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(TENSORRT_RTX, None, monkeypatch)
    for refusal in (runtime.availability(), runtime.check_availability("sm89")):
        assert isinstance(refusal, Unavailable)
        assert "graphlap[tensorrt-rtx]" in refusal.remedy


@pytest.mark.usefixtures("no_driver")
def test_a_gpu_that_is_not_here_cannot_be_measured_nor_one_be_named_that_does_not_exist(
    runtime: Runtime, graphs: Graphs
) -> None:
    with pytest.raises(NotAvailable, match="to build for alone") as exc_info:
        runtime.compile(graphs.dense, {"batch": 1}, SM89)
    assert "--check" in exc_info.value.remedy
    with pytest.raises(NotAvailable, match="'sm90'") as exc_info:
        runtime.refuse_device("sm90", "")
    for name in ("sm75", "sm80", "sm86", "sm89", "sm120", "sm121"):
        assert f"tensorrt-rtx:{name} " in exc_info.value.remedy


def test_a_gpu_that_is_here_is_opened_and_told_with_the_size_of_its_engine(
    runtime: Runtime, graphs: Graphs, tensorrt_rtx: ModuleType
) -> None:
    check_result = runtime.check(graphs.dense, {"batch": 1}, HERE)
    assert check_result.checked_as == "opened"
    assert check_result.execution is not None
    assert check_result.execution.provider == "TensorRT for RTX"
    assert check_result.execution.precision == "fp32"
    assert check_result.memory.device_peak_bytes
    assert check_result.plan_bytes is not None
    assert check_result.plan_bytes > Path(graphs.dense.path).stat().st_size
    (engine,) = tensorrt_rtx.built
    assert engine["compute_capability"] == 90, "that of the stand-in's GPU"
    assert engine["strong"]


def test_kernels_are_there_before_the_first_run_and_a_kept_engine_is_used_again(
    runtime: Runtime, graphs: Graphs, tensorrt_rtx: ModuleType, driver: Driver, tmp_path: Path
) -> None:
    reference = reference_of(graphs.dense, 3)
    for state in ("miss", "hit"):
        settings = Settings(options={"streams": 2}, cache_dir=str(tmp_path))
        with runtime.compile(graphs.dense, {"batch": 3}, settings) as session:
            assert session.execution.facts["engine_cache"] == state
            lane = session.lanes[0]
            assert computes(lane, reference)
    assert tensorrt_rtx.strategies == ["eager"] * 4
    assert len(tensorrt_rtx.built) == 1
    (engine_path,) = (tmp_path / "tensorrt-rtx").iterdir()
    assert engine_path.suffix == ".engine", "its builder times nothing that could be kept"
    assert driver.live == 0


def test_a_gpu_that_it_does_not_know_is_unsupported_and_leaves_nothing(
    runtime: Runtime, graphs: Graphs, rtx: ModuleType, driver: Driver
) -> None:
    """TensorRT's own builder for the stand-in's GPU, which says that it is a Hopper."""
    with pytest.raises(Unsupported, match=r"9\.0 \(.*not supported"):
        runtime.compile(graphs.dense, {"batch": 1}, HERE)
    assert driver.live == 0
