"""What devices tell: from the driver's binding and from real counter files, wraps included."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.telemetry import GpuState
from app.machine.environment import _gpus
from app.machine.telemetry import Nvml, Rapl, Telemetry
from app.runs.history.trends import differences
from tests.app.machine.counters import FakeNvml, package


def test_a_gpu_is_told_in_our_units() -> None:
    reading = Nvml(FakeNvml(reasons=0x1 | 0x4 | 0x40)).read(1, "b", pid=7)
    assert reading is not None
    assert (reading.device, reading.power_w, reading.clock_mhz) == ("gpu:1", 71.0, 1501)
    assert (reading.energy_mj, reading.temperature_c) == (5001.0, 41)
    assert reading.process_memory_mb == 3.0, "only the measuring process counts"
    assert reading.throttle == ("power_cap", "hardware_thermal"), "idling is no throttling"
    deaf = ("nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetComputeRunningProcesses")
    reading = Nvml(FakeNvml(deaf)).read(0, "a", pid=7)
    assert reading is not None and reading.power_w == 70.0
    assert reading.energy_mj is reading.process_memory_mb is None, "empty and not zero"


def test_the_gpu_is_the_one_that_calls_itself_so_whatever_number_cuda_gives_it() -> None:
    """CUDA counts the fastest first, the library by the bus. Others are told only where ours is
    seen among them: in a container all processes may have other numbers, or none."""
    nvml = Nvml(FakeNvml())
    for number, uuid, clock, pid in ((0, "b", 1501, 7), (1, "a", 1500, 7), (0, "a", 1500, 99)):
        reading = nvml.read(number, uuid, pid)
        assert reading is not None
        assert (reading.device, reading.clock_mhz) == (f"gpu:{number}", clock)
        assert reading.other_processes == (1 if pid == 7 else None)
    assert nvml.read(0, "c", pid=7) is None and nvml.state("c") is None, "it is not there"


def test_sharing_by_parts_and_by_the_service_for_several_processes_is_read() -> None:
    nvml = Nvml(FakeNvml(uuids={"MIG-part": 1}, mps_clients=(7, 8), mig_profile="3g.40gb"))
    state, reading = nvml.state("part"), nvml.read(0, "part", pid=7)
    assert state is not None and state.mig_profile == "3g.40gb"
    assert reading is not None and (reading.mps_clients, reading.clock_mhz) == (2, 1501)
    whole = Nvml(FakeNvml(("nvmlDeviceGetMPSComputeRunningProcesses",)))
    state, reading = whole.state("a"), whole.read(0, "a", pid=7)
    assert state is not None and state.mig_profile == ""
    assert reading is not None and reading.mps_clients is None


def test_the_state_of_a_gpu_is_what_its_figures_depend_on() -> None:
    state = Nvml(FakeNvml()).state("b")
    assert state == GpuState(
        name="GPU 1",
        uuid="GPU-b",
        driver="580.95",
        power_limit_w=701.0,
        clock_limit_mhz=1981,
        persistence=False,
        ecc=True,
        mig=False,
        link="PCIe 5 x16",
    )
    deaf = ("nvmlDeviceGetEccMode", "nvmlDeviceGetMigMode", "nvmlDeviceGetPersistenceMode")
    quiet = Nvml(FakeNvml(deaf)).state("b")
    assert quiet is not None
    assert (quiet.ecc, quiet.mig, quiet.persistence) == (None, None, None)


def test_runs_on_another_driver_are_told_apart_and_those_on_a_resting_link_are_not() -> None:
    first = {"gpus": _gpus(Nvml(FakeNvml()))}
    link = ("nvmlDeviceGetCurrPcieLinkGeneration",)
    assert differences(first, {"gpus": _gpus(Nvml(FakeNvml(link)))}) == []
    assert differences({}, {"gpus": _gpus(None)}) == []
    other = {"gpus": _gpus(Nvml(FakeNvml(("nvmlSystemGetDriverVersion",))))}
    assert ("gpus.0.driver", "580.95", "not known") in differences(first, other)


def test_packages_add_up_and_a_counter_that_began_again_goes_on(tmp_path: Path) -> None:
    package(tmp_path, 0, 999_000)
    package(tmp_path, 1, 10_000)
    core = tmp_path / "intel-rapl:0:0"
    core.mkdir()
    (core / "name").write_text("core\n")  # part of its package: it must not count twice
    (core / "energy_uj").write_text("5\n")
    rapl = Rapl(tmp_path)
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("2000\n")
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("14000\n")
    reading = rapl.read()
    assert reading is not None
    assert reading.device == "cpu"
    assert reading.energy_mj == pytest.approx((1_000 + 2_000 + 4_000) / 1e3)
    for counter in tmp_path.glob("*/energy_uj"):
        counter.unlink()
    assert rapl.read() is None, "counters that vanish are no reading"
    with pytest.raises(OSError, match="no energy counter"):
        Rapl(tmp_path / "intel-rapl:0:0")


def test_nothing_is_watched_where_nothing_can_be_told(tmp_path: Path) -> None:
    package(tmp_path, 0, 1)
    assert not Telemetry().watches((0,))
    assert not Telemetry(nvml=Nvml(FakeNvml())).watches(())
    assert Telemetry(rapl=Rapl(tmp_path)).watches(())
