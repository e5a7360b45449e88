"""ONNX Runtime with a provider from a package keeps the contract: the real one of the card."""

from __future__ import annotations

import pytest

from app.contract.graphs import Graphs
from exporters import install_layout
from runtimes.base import Runtime
from runtimes.errors import NotAvailable
from runtimes.onnxruntime.runtime import OrtEp
from runtimes.options import Settings
from tests.runtimes.contract import RuntimeContract


class OfTheCard(OrtEp):
    default_device = install_layout.module_name("runtimes.fpga.provider")


class TestOrtEp(RuntimeContract):
    """The card computes in bf16, which ONNX Runtime does not know."""

    name = "ort-ep"
    tolerance = 0.05
    precision = "unknown"
    untried = frozenset({f"device={other}" for other in ("cpu", "gpu", *range(1, 16))})

    @pytest.fixture
    def runtime(self) -> Runtime:
        return OfTheCard()

    def test_an_unknown_option_or_value_is_refused_with_the_known_ones(
        self, runtime: Runtime, graphs: Graphs
    ) -> None:
        """The provider alone knows its options."""
        options = {"warp_speed": "9"}
        runtime.refuse(graphs.dense, {"batch": 1}, Settings(options=options))
        with pytest.raises(Exception, match="warp_speed"):
            runtime.compile(graphs.dense, {"batch": 1}, Settings(options=options))

    def test_a_device_that_is_not_there_is_refused(self, runtime: Runtime, graphs: Graphs) -> None:
        """A package is looked for where it is loaded."""
        for settings in (Settings(device="nowhere"), Settings(device="/nowhere.so")):
            with pytest.raises(NotAvailable):
                runtime.compile(graphs.dense, {"batch": 1}, settings)
