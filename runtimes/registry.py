"""Runtime names to classes, resolved only when requested: ours and those of other packages.

A name is `name[:device][@release]`; behind the `@` stands a release of its own or an environment.
Adding one of ours is one line here, one folder beside this module, and one test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from exporters import install_layout
from runtimes.base import Runtime, Unavailable
from runtimes.errors import NotAvailable

if TYPE_CHECKING:
    from runtimes.packaged import Offered


RUNTIMES: dict[str, str] = {
    "ort-cpu": "runtimes.onnxruntime.runtime:OrtCpu",
    "ort-cuda": "runtimes.onnxruntime.gpu_runtimes:OrtCuda",
    "ort-tensorrt": "runtimes.onnxruntime.gpu_runtimes:OrtTensorRt",
    "ort-ep": "runtimes.onnxruntime.runtime:OrtEp",
    "tensorrt": "runtimes.tensorrt.runtime:TensorRt",
    "tensorrt-rtx": "runtimes.tensorrt.runtime:TensorRtRtx",
    "openvino-cpu": "runtimes.openvino.runtime:OpenVinoCpu",
    "openvino": "runtimes.openvino.runtime:OpenVino",
    "torch-cpu": "runtimes.pytorch.runtime:TorchCpu",
    "torch-cuda": "runtimes.pytorch.runtime:TorchCuda",
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


def names() -> tuple[str, ...]:
    """All that are known: ours as the table has them, then those of other packages by name."""
    return (*RUNTIMES, *_offered().runtimes)


def refused() -> Mapping[str, Unavailable]:
    """What other packages offer and can't be taken, by the name that they give it."""
    return _offered().refused


def packages() -> dict[str, str]:
    """The packages that bring runtimes, with their versions."""
    return {package.package: package.version for package in _offered().runtimes.values()}


def load(name: str) -> Runtime:
    """An instance of the runtime called `name`; NotAvailable if there is none."""
    if name in RUNTIMES:
        runtime: type[Runtime] = install_layout.load(RUNTIMES[name])
        return runtime()
    package = _offered().runtimes.get(name)
    if package is None:
        raise NotAvailable(
            f"there is no runtime called {name!r} here", "install the package that brings it"
        )
    from runtimes.packaged import load as load_packaged

    return load_packaged(package)


@cache
def _offered() -> Offered:
    # Not before it is needed: a process that measures a runtime of ours starts without it.
    from runtimes.packaged import read

    return read(RUNTIMES)


_PACKAGES = {
    "accuracy": "scikit-learn pillow",
    "cpu": "onnxruntime",
    "gpu": "onnxruntime-gpu",
    "openvino": "openvino",
    "tensorrt": "tensorrt-cu13",
    "tensorrt-rtx": "tensorrt-rtx-cu12-bindings tensorrt-rtx-cu12-libs",
    "torch": "torch",
}
"""An extra of ours -> what an environment needs of it: the engine, or what reads images."""
_INSTALL = re.compile(r"(?<!-m )pip install ((?:--\S+ )*)('graphlap\[([\w-]+)\]')?")


def environment_of(text: str) -> str:
    """The environment that `name[:device][@environment]` names, empty for the one we run in.

    Of a name that is not known it is empty too: a run folder may hold runtimes of another release.
    """
    spec = parse_spec(text)
    try:
        is_own_environment = not spec.release or load(spec.name).has_releases
    except NotAvailable:
        return ""
    return "" if is_own_environment else spec.release


def release_of(text: str) -> str:
    """The release of `name[:device][@release]`, empty for the newest and for what has none."""
    return "" if environment_of(text) else parse_spec(text).release


def remedy_in(python: str, text: str) -> str:
    """A remedy for the environment of this interpreter: its own pip, and nothing of ours."""

    def install_command(found: re.Match[str]) -> str:
        packages = _PACKAGES.get(found[3], found[2] or "")
        return f"{python} -m pip install {found[1]}{packages}"

    return _INSTALL.sub(install_command, text)
