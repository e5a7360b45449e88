"""Layers, cells and models of the catalogue on the card against their torch modules.

One of each kind by default; GRAPHLAP_ALL_MODELS=1 takes all of them but the zoo.
"""

from __future__ import annotations

import os
from pathlib import Path

import onnxruntime
import pytest

from exporters.messages import ExportRequest
from exporters.models.catalogue import by_suite
from exporters.types import axes_key, load_reference
from exporters.worker.export import export
from runtimes.fpga import provider
from tests.checkout import ROOT
from tests.runtimes.fpga.ort_sessions import CPU, disagreement, quiet_options, taken
from tests.seldom import seldom_but

A_FEW = (
    *("conv3d_f32_s2", "depthwise2d_f32_s2", "batchnorm_4d", "pad2d_symmetric", "maxpool2d_k4_s2"),
    *("mobilenet_block_32", "densenet_block_1d_32", "cnn_tiny"),
)
SELDOM = ("lstm_tiny_seq",)
ALL = tuple(d.name for suite, group in by_suite().items() if suite != "zoo" for d in group)


@pytest.fixture(scope="module")
def large_card(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Options of a card with more tiles than any FPGA holds, its file without the part that would
    refuse them: what fits is not this test's question."""
    head, _, tail = (ROOT / "runtimes/fpga/cards/v80.toml").read_text("utf-8").partition("[part]")
    path = tmp_path_factory.mktemp("cards") / "large.toml"
    path.write_text(head + tail[tail.index("[releases") :], "utf-8")
    return {"card": str(path), "tiles": "100000"}


@pytest.mark.parametrize(
    "name", ALL if os.environ.get("GRAPHLAP_ALL_MODELS") else seldom_but(A_FEW, A_FEW + SELDOM)
)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_card_agrees_with_torch(name: str, cache: Path, large_card: dict[str, str]) -> None:
    model, _ = export(ExportRequest(model=name, cache_dir=str(cache)))
    options = quiet_options()
    for axis, size in model.axes.items():
        options.add_free_dimension_override_by_name(axis, size)
    options.add_provider_for_devices([provider.device()], large_card)
    session = onnxruntime.InferenceSession(model.path, options)
    assert taken(session, CPU) == []
    reference = load_reference(model.references[axes_key(model.axes)])
    actual_outputs = session.run(list(reference.outputs), dict(reference.inputs))
    assert [
        disagreement(a, b) for a, b in zip(actual_outputs, reference.outputs.values(), strict=True)
    ] == [""] * len(actual_outputs)
