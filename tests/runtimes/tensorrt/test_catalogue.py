"""TensorRT's own parser and builder take the models of the VOLLO tables and ten layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporters.messages import ExportRequest
from runtimes import registry
from runtimes.options import Settings
from tests.exporters.support import WorkerProcess
from tests.seldom import seldom_but

VOLLO = (
    *("cnn_tiny", "cnn_small", "cnn_med"),
    *("lstm_tiny", "lstm_small", "lstm_med", "lstm_med_deep", "lstm_large"),
)
LAYERS = (
    *("conv1d_f32_s1", "conv2d_f64_k7", "conv3d_f32_s2", "depthwise2d_f32_s2", "dense_128_32"),
    *("avgpool2d_k4_s2", "maxpool1d_k2_s1", "batchnorm_3d", "activation_relu6", "pad2d_reflect"),
)

USUAL = ("lstm_tiny", "conv2d_f64_k7", "dense_128_32")


@pytest.mark.usefixtures("rtx")
@pytest.mark.parametrize("name", seldom_but(USUAL, [*VOLLO, *LAYERS]))
def test_it_becomes_an_engine_that_holds_its_weights(worker: WorkerProcess, name: str) -> None:
    model = worker.ask(ExportRequest(name)).model
    assert model is not None
    settings = Settings(device="sm89")
    check_result = registry.load("tensorrt-rtx").check(model, model.axes, settings)
    assert check_result.checked_as == "built"
    assert check_result.plan_bytes is not None
    assert check_result.plan_bytes > Path(model.path).stat().st_size
