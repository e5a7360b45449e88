"""What torch exports for transformers runs whole on the card: every float node, and its timing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import pytest
import torch

from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.cards import load_card
from runtimes.fpga.graph.graph import touches_float
from runtimes.fpga.graph.importer import import_model
from tests.exporters.pytorch import hub_networks
from tests.runtimes.fpga.ort_sessions import CPU, card_session, cpu_session, disagreement, taken
from tests.seldom import seldom_but

WHOLE = ("distilbert", "gpt2", "clip_text", "vit", "llama", "mamba")


@pytest.mark.parametrize("name", seldom_but(("llama",), WHOLE))
@pytest.mark.filterwarnings("ignore")
def test_a_transformer_runs_whole(name: str, tmp_path: Path) -> None:
    """Nothing that touches a float is left to others, outputs hold, and the card has a timing."""
    pytest.importorskip("transformers", reason="transformers is in the extra `dev`")
    torch.manual_seed(0)
    module, inputs = getattr(hub_networks, name)()
    path = tmp_path / "model.onnx"
    torch.onnx.export(module.eval(), (), path, kwargs=dict(inputs), dynamo=True, verbose=False)
    proto = onnx.load(path)
    feeds = {v.name: inputs[v.name].numpy() for v in proto.graph.input}
    session, graph = card_session(proto), import_model(proto, {})
    index_ops = Counter(node.op for node in graph.nodes if not touches_float(graph, node))
    assert Counter(taken(session, CPU)) <= index_ops
    assert taken(session)
    expected = cpu_session(proto).run(None, feeds)
    for actual, expected_output in zip(session.run(None, feeds), expected, strict=True):
        assert disagreement(actual, expected_output) == ""
    assert compile_graph(graph, load_card("v80")).scheduler.after_idle(0).cycles > 0
