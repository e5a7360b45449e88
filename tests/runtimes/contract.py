"""The contract that ships, over graphs that have torch modules behind them too."""

from __future__ import annotations

import pytest

from app.contract.suite import ENGINES, ONE_THREAD, agrees, reference_of
from app.contract.suite import RuntimeContract as ShippedContract
from exporters.types import Reference
from runtimes.base import Lane
from tests.runtimes.graphs import Graphs

__all__ = ["ENGINES", "ONE_THREAD", "RuntimeContract", "agrees", "computes", "reference_of"]


def computes(lane: Lane, reference: Reference, tolerance: float = 1e-5) -> bool:
    """Whether a run on the reference's inputs gives its outputs."""
    lane.bind(reference.inputs)
    lane.run()
    return agrees(lane.outputs(), reference, tolerance)


class RuntimeContract(ShippedContract):
    @pytest.fixture
    def graphs(self, graphs: Graphs) -> Graphs:
        return graphs
