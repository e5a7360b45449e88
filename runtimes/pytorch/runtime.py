"""PyTorch on the CPU and on one GPU, eager or compiled: the module behind an exported graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from exporters.types import ExportedModel, Precision
from runtimes.base import Availability, Available, Runtime, Session, Unavailable
from runtimes.cuda import runtime as libraries
from runtimes.cuda.options import GPU_OPTIONS, built_for
from runtimes.cuda.runtime import GpuRuntime
from runtimes.errors import Unsupported
from runtimes.options import SESSIONS, Option, Request
from runtimes.session.host import CALL

MODE = Option(
    "mode",
    "eager",
    "run the module as it is written, or compile it into one graph first",
    ("eager", "compile"),
)
CHANNELS_LAST = Option(
    "channels_last",
    False,
    "float inputs and weights of four dimensions have their channels innermost in memory",
)


class TorchCpu(Runtime):
    """The module on the CPU under inference mode, its inputs in place.

    Of bf16 it has kernels for every processor, of fp16 slow ones.
    """

    builds_module = True
    name = "torch-cpu"
    summary = "PyTorch on the CPU, eager or compiled"
    engine = "torch"
    loads_alone = True
    distribution = "torch"
    options = (MODE, CHANNELS_LAST, SESSIONS)
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "bf16")

    def availability(self) -> Availability:
        if find_spec("torch") is None:
            return Unavailable("PyTorch is not installed", "pip install 'graphlap[torch]'")
        return Available(metadata.version("torch"))

    def load(self) -> None:
        from runtimes.pytorch import session  # noqa: F401 - and with it torch

    def _refuse(self, request: Request) -> None:
        refuse_without_module(request.model)

    def _compile(self, request: Request) -> Session:
        return self._compile_shapes((request,))

    def _compile_shapes(self, requests: Sequence[Request]) -> Session:
        from runtimes.pytorch.session import TorchSession

        return TorchSession(requests)


def refuse_without_module(model: ExportedModel) -> None:
    """Raise Unsupported for a graph that no torch module stands behind."""
    if model.factory is None:
        raise Unsupported(
            "there is no torch module behind an .onnx file",
            "give the module as path/file.py:factory, or use another runtime",
        )


_MODE = replace(
    MODE,
    help=f"{MODE.help}; or let inductor replay its kernels as CUDA graphs too",
    choices=(*MODE.choices, "reduce-overhead"),
)


class TorchCuda(GpuRuntime):
    """The module under inference mode; a case in fp16 or bf16 converts its weights."""

    builds_module = True
    name = "torch-cuda"
    summary = "PyTorch on a GPU, eager or compiled"
    engine = "torch"
    distribution = "torch"
    options = (
        _MODE,
        *GPU_OPTIONS,
        CHANNELS_LAST,
        Option("cudnn_benchmark", False, "cuDNN times its algorithms and takes the fastest"),
        CALL,
        SESSIONS,
    )
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "bf16")

    def availability(self) -> Availability:
        if find_spec("torch") is None:
            return Unavailable("PyTorch is not installed", "pip install 'graphlap[torch]'")
        version, built_for = metadata.version("torch"), cuda_of_build()
        reason = libraries.why_not((), built_for or 0, f"torch {version}")
        if reason is None and built_for is None:
            reason = Unavailable(
                f"torch {version} is built without CUDA", "install a CUDA build of torch"
            )
        return reason or Available(version)

    def load(self) -> None:
        from runtimes.pytorch import cuda_session  # noqa: F401 - and with it torch

    def _refuse(self, request: Request) -> None:
        refuse_without_module(request.model)
        if request.options["mode"] == "reduce-overhead" and request.options["cuda_graph"]:
            raise Unsupported(
                "mode=reduce-overhead records CUDA graphs of its own, which can't lie in another",
                "set cuda_graph=0, or mode=compile",
            )

    def _compile(self, request: Request) -> Session:
        from runtimes.cuda.driver import CudaError, compile_fault
        from runtimes.pytorch.cuda_session import CudaPlace, TorchCudaSession

        try:
            self._before(request)
            place = CudaPlace(int(request.settings.device))
            return self._told(request, TorchCudaSession(request, place))
        except CudaError as error:
            raise compile_fault(error) from error


def cuda_of_build() -> int | None:
    """The major CUDA release that the installed torch is built for, read without importing it."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    return built_for(Path(spec.origin).parent / "version.py", "cuda")
