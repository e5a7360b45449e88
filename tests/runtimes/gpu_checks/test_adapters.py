"""The checks call the GPU adapters rightly: over the driver's stand-in, with the host computing.

Times are the host's, so only what is computed has a verdict here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import onnxruntime
import pytest

from runtimes.base import Runtime, Session
from runtimes.errors import NotAvailable, Unsupported
from runtimes.execution import Boundary, Execution
from runtimes.onnxruntime.gpu_lane import lane_on
from runtimes.onnxruntime.gpu_runtimes import OrtCuda
from runtimes.onnxruntime.opening import Opening, session_options
from runtimes.onnxruntime.session import OrtSession
from runtimes.options import Request
from runtimes.pytorch.cuda_session import TorchCudaSession
from runtimes.pytorch.runtime import TorchCuda
from runtimes.tensorrt.runtime import TensorRt
from tests.gpu.checks import tasks
from tests.gpu.device import CudaDevice, NotRun
from tests.gpu.models import Models
from tests.gpu.stand_in import STAND_IN_SIZES
from tests.gpu.subject import Subject
from tests.runtimes.onnxruntime.on_host import CPU, AsOnGpu, HostMemory
from tests.runtimes.pytorch.host_place import HostPlace
from tests.runtimes.stand_ins.fixtures import Driver

MODULES = Path(__file__).with_name("stand_in_modules.py")
COMPUTED = {"outputs after poisoning", "replays read new inputs", "threads"}


class TorchOnHost(TorchCuda):
    def _compile(self, request: Request) -> Session:
        self._before(request)
        return self._told(request, TorchCudaSession(request, HostPlace()))


class OrtOnHost(OrtCuda):
    def _compile(self, request: Request) -> Session:
        self._before(request)
        options = session_options(Opening.of(request))
        plain = onnxruntime.InferenceSession(request.model.path, options, providers=[CPU])
        engine = AsOnGpu(plain, ())
        lane = lane_on(engine, request, HostMemory(), self._has_queue(request))
        boundary: Boundary = "host" if request.options["boundary"] == "host" else "device"
        execution = Execution(CPU, "fp32", "host", lane.call_path, boundary=boundary)
        return self._told(request, OrtSession(engine, (lane,), execution, None))


@pytest.mark.parametrize("adapter", [TorchOnHost, OrtOnHost, TensorRt])
def test_every_check_runs_to_a_verdict_or_a_reason(
    adapter: type[Runtime], driver: Driver, tensorrt: ModuleType, tmp_path: Path
) -> None:
    subject = Subject(
        adapter(), CudaDevice(), Models(tmp_path, STAND_IN_SIZES, MODULES), str(tmp_path)
    )
    # Inductor would compile for a minute, and has no part in what is held against the host here.
    planned_tasks = [task for task in tasks(adapter.name) if "mode" not in task.options]
    computed_count = 0
    for task in planned_tasks:
        try:
            finding = task.check.measure(subject, task.options)
        except (NotRun, Unsupported, NotAvailable):
            continue
        if task.check.name in COMPUTED:
            assert finding.passed, (task.key, finding)
            computed_count += 1
    subject.close()
    subject.device.close()
    assert computed_count >= 6
    assert driver.live == 0


def test_limits_are_those_of_the_data_sheet(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H100 SXM: 67 TFLOP/s in fp32, 494 in TF32 at 1830 MHz, 3.35 TB/s; PCIe 5 x16: 63 GB/s."""
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!{sys.executable}\nprint('5, 16')\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    limits = CudaDevice().limits()
    assert limits.fp32_flop_per_s == pytest.approx(67e12, rel=0.01)
    assert limits.tf32_flop_per_s == pytest.approx(494e12 * 1980 / 1830, rel=0.01)
    assert limits.memory_bytes_per_s == pytest.approx(3.35e12, rel=0.01)
    assert limits.link_bytes_per_s == pytest.approx(63e9, rel=0.01)
    program.unlink()
    assert CudaDevice().limits().link_bytes_per_s is None


def test_power_is_what_nvidia_smi_prints_until_it_is_ended(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"#!{sys.executable}\nimport time\nprint('301.5\\n[N/A]\\n299', flush=True)\n"
        f"open({str(tmp_path / 'printed')!r}, 'w').close()\ntime.sleep(60)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    finish = CudaDevice().power_log()
    while not (tmp_path / "printed").exists():
        pass
    assert finish() == [301.5, 299.0]
    program.unlink()
    with pytest.raises(NotRun):
        CudaDevice().power_log()
