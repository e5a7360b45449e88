"""The contract that ships, over graphs that have torch modules behind them too."""

from __future__ import annotations

import pytest

from app.contract.suite import ENGINES, ONE_THREAD, agrees, reference_of
from app.contract.suite import RuntimeContract as ShippedContract
from exporters.types import ExportedModel, Reference
from runtimes import registry
from runtimes.base import Lane
from runtimes.errors import RuntimeFault
from runtimes.options import Settings
from tests.runtimes.graphs import Graphs

__all__ = [
    "ENGINES",
    "ONE_THREAD",
    "RuntimeContract",
    "agrees",
    "computes",
    "reference_of",
    "refusal",
]


def computes(lane: Lane, reference: Reference, tolerance: float = 1e-5) -> bool:
    """Whether a run on the reference's inputs gives its outputs."""
    lane.bind(reference.inputs)
    lane.run()
    return agrees(lane.outputs(), reference, tolerance)


def refusal(name: str, model: ExportedModel, device: str = "", **axes: int) -> RuntimeFault:
    """What compiling ends with: one line of the engine's words alone, and a remedy."""
    with pytest.raises(RuntimeFault) as exc_info:
        registry.load(name).compile(model, axes, Settings(threads=1, device=device))
    text = str(exc_info.value)
    assert exc_info.value.remedy
    assert "\n" not in text and ".cpp" not in text and "onnxruntime_src" not in text
    return exc_info.value


class RuntimeContract(ShippedContract):
    @pytest.fixture
    def graphs(self, graphs: Graphs) -> Graphs:
        return graphs
