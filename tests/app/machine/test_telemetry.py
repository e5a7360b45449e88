"""What devices tell: from the driver's binding and from real counter files, wraps included."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.reading import Reading
from app.machine.telemetry import Nvml, Rapl, Telemetry
from exporters.codec import from_json, to_json
from tests.app.machine.counters import FakeNvml, package


def test_a_gpu_is_told_in_our_units() -> None:
    reading = Nvml(FakeNvml(reasons=0x1 | 0x4 | 0x40), visible="").read(1, pid=7)
    assert reading is not None
    assert (reading.device, reading.power_w, reading.clock_mhz) == ("gpu:1", 71.0, 1501)
    assert (reading.energy_mj, reading.temperature_c) == (5001.0, 41)
    assert reading.process_memory_mb == 3.0, "only the measuring process counts"
    assert reading.throttle == ("power_cap", "hardware_thermal"), "idling is no throttling"


def test_what_a_gpu_does_not_tell_is_empty_and_not_zero() -> None:
    deaf = ("nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetComputeRunningProcesses")
    reading = Nvml(FakeNvml(deaf), visible="").read(0, pid=7)
    assert reading is not None
    assert reading.energy_mj is None
    assert reading.process_memory_mb is None
    assert reading.power_w == 70.0


def test_the_gpu_that_cuda_counts_as_first_is_the_one_that_is_read() -> None:
    assert _clock(Nvml(FakeNvml(), visible="1"), 0) == 1501
    assert _clock(Nvml(FakeNvml(), visible="GPU-b, 0"), 0) == 1501
    assert _clock(Nvml(FakeNvml(), visible="GPU-b, 0"), 1) == 1500


def test_a_gpu_that_is_not_there_gives_no_reading() -> None:
    assert Nvml(FakeNvml(), visible="").read(5, pid=7) is None
    assert Nvml(FakeNvml(), visible="0").read(1, pid=7) is None


def _clock(nvml: Nvml, gpu: int) -> float | None:
    reading = nvml.read(gpu, pid=7)
    assert reading is not None
    return reading.clock_mhz


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


def test_without_packages_there_is_no_counter(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no energy counter"):
        Rapl(tmp_path)


def test_a_counter_that_vanishes_is_no_reading(tmp_path: Path) -> None:
    folder = package(tmp_path, 0, 1)
    rapl = Rapl(tmp_path)
    (folder / "energy_uj").unlink()
    assert rapl.read() is None


def test_nothing_is_watched_where_nothing_can_be_told(tmp_path: Path) -> None:
    package(tmp_path, 0, 1)
    assert not Telemetry().watches((0,))
    assert not Telemetry(nvml=Nvml(FakeNvml(), visible="")).watches(())
    assert Telemetry(rapl=Rapl(tmp_path)).watches(())


def test_a_reading_survives_its_file() -> None:
    reading = Reading(5, "gpu:0", power_w=1.5, throttle=("thermal",))
    assert from_json(Reading, to_json(reading)) == reading
