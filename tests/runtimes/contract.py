"""The contract that ships, over graphs that have torch modules behind them too."""

from __future__ import annotations

import pytest

from app.contract.suite import ENGINES, ONE_THREAD, agrees, reference_of
from app.contract.suite import RuntimeContract as ShippedContract
from tests.runtimes.graphs import Graphs

__all__ = ["ENGINES", "ONE_THREAD", "RuntimeContract", "agrees", "reference_of"]


class RuntimeContract(ShippedContract):
    @pytest.fixture
    def graphs(self, graphs: Graphs) -> Graphs:
        return graphs
