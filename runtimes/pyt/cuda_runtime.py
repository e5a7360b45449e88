"""PyTorch on one GPU, eager or compiled: the module that a graph was exported from."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from exporters.types import ExportedModel, Precision
from runtimes.base import Availability, Available, Device, Runtime, Session, Settings, Unavailable
from runtimes.cuda import libraries
from runtimes.cuda.options import BOUNDARY, CUDA_GRAPH, TF32
from runtimes.options import SESSIONS, chosen
from runtimes.pyt.runtime import MODE, refuse_without_module
from runtimes.session.host import fixed_shapes


class TorchCuda(Runtime):
    """The module under inference mode; an fp16 case converts its weights."""

    name = "torch-cuda"
    summary = "PyTorch on a GPU, eager or compiled"
    accelerator = "gpu"
    options = (MODE, BOUNDARY, CUDA_GRAPH, TF32, SESSIONS)
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")

    def availability(self) -> Availability:
        if find_spec("torch") is None:
            return Unavailable("the package torch is not installed", "pip install torch")
        version, built_for = metadata.version("torch"), cuda_of_build()
        reason = libraries.why_not((), built_for or 0, f"torch {version}")
        if reason is None and built_for is None:
            reason = Unavailable(
                f"torch {version} is built without CUDA", "install a CUDA build of torch"
            )
        return reason or Available(version)

    def devices(self) -> tuple[Device, ...]:
        return libraries.devices()

    def refuse(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> None:
        libraries.device_index(self, settings)
        chosen(self, settings)
        fixed_shapes(model, model.inputs, axes)
        super().refuse(model, axes, settings)
        refuse_without_module(model)

    def load(self) -> None:
        from runtimes.pyt import cuda_session  # noqa: F401 - and with it torch

    def compile(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Session:
        from runtimes.pyt.cuda_session import CudaPlace, TorchCudaSession

        self.refuse(model, axes, settings)
        place = CudaPlace(libraries.device_index(self, settings))
        return TorchCudaSession(model, axes, settings, chosen(self, settings), place)


def cuda_of_build() -> int | None:
    """The major CUDA release that the installed torch is built for, read without importing it."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    tree = ast.parse((Path(spec.origin).parent / "version.py").read_text("utf-8"))
    for node in tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id="cuda"), value=ast.Constant(value=str(release))):
                return int(release.partition(".")[0])
    return None
