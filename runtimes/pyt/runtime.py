"""PyTorch itself, eager or compiled: the module that a graph was exported from, run as it is.

The baseline that people already have. A graph without a torch module behind it, such as a
user's own .onnx, is unsupported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from typing import ClassVar

from exporters.types import ExportedModel, Precision
from runtimes.base import Availability, Available, Runtime, Session, Unavailable
from runtimes.faults import Unsupported
from runtimes.options import SESSIONS, Option
from runtimes.request import Request

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
    distribution = "torch"
    options = (MODE, CHANNELS_LAST, SESSIONS)
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "bf16")

    def availability(self) -> Availability:
        if find_spec("torch") is None:
            return Unavailable("PyTorch is not installed", "pip install 'graphlap[torch]'")
        return Available(metadata.version("torch"))

    def load(self) -> None:
        from runtimes.pyt import session  # noqa: F401 - and with it torch

    def _refuse(self, request: Request) -> None:
        refuse_without_module(request.model)

    def _compile(self, request: Request) -> Session:
        return self._compile_shapes((request,))

    def _compile_shapes(self, requests: Sequence[Request]) -> Session:
        from runtimes.pyt.session import TorchSession

        return TorchSession(requests)


def refuse_without_module(model: ExportedModel) -> None:
    """Raise Unsupported for a graph that no torch module stands behind."""
    if model.factory is None:
        raise Unsupported(
            "there is no torch module behind an .onnx file",
            "give the module as path/file.py:factory, or use another runtime",
        )
