"""Runtime names to classes, resolved only when asked for.

Adding a runtime is one line here, one file beside this one, and one test.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from runtimes.base import Runtime

RUNTIMES: dict[str, str] = {
    "ort-cpu": "runtimes.ort:OrtCpu",
    "ort-cuda": "runtimes.ort_gpu:OrtCuda",
    "ort-tensorrt": "runtimes.ort_gpu:OrtTensorRt",
    "tensorrt": "runtimes.trt_native:TensorRt",
    "openvino-cpu": "runtimes.openvino_cpu:OpenVinoCpu",
    "torch-cpu": "runtimes.torch_native:TorchCpu",
    "torch-cuda": "runtimes.torch_cuda:TorchCuda",
    "fpga": "runtimes.fpga.runtime:Fpga",
    "fake": "runtimes.fake:Fake",
}


@dataclass(frozen=True, slots=True)
class RuntimeSpec:
    """The parsed form of `name[:device][@release]`."""

    name: str
    device: str = ""
    release: str = ""

    def __str__(self) -> str:
        device = f":{self.device}" if self.device else ""
        release = f"@{self.release}" if self.release else ""
        return f"{self.name}{device}{release}"


def parse_spec(text: str) -> RuntimeSpec:
    """Split `name[:device][@release]`; the name is not looked up."""
    rest, _, release = text.partition("@")
    name, _, device = rest.partition(":")
    return RuntimeSpec(name, device, release)


def load(name: str) -> Runtime:
    """An instance of the runtime called `name`; KeyError if there is none."""
    module, _, attribute = RUNTIMES[name].partition(":")
    runtime: type[Runtime] = getattr(import_module(module), attribute)
    return runtime()
