"""What torch exports for transformers runs whole on the card: every float node, and its timing."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import onnx
import pytest
import torch
from torch import nn
from torch.nn import functional

from runtimes.fpga.card.compiler import Compiled, compile_graph
from runtimes.fpga.cards import load_card
from runtimes.fpga.graph.graph import Graph, touches_float
from runtimes.fpga.graph.importer import import_model
from tests.checkout import ROOT
from tests.runtimes.fpga.ort_sessions import CPU, card_session, cpu_session, disagreement, taken
from tests.seldom import seldom_but

HEADS, TOKENS, WIDTH = 2, 6, 8


class Attention(nn.Module):
    def __init__(self, is_causal: bool = False) -> None:
        super().__init__()
        self.is_causal = is_causal

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return functional.scaled_dot_product_attention(
            x, x, x, attn_mask=mask, is_causal=self.is_causal
        )


X = torch.randn(1, HEADS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(0))
MASK = torch.ones(1, 1, TOKENS, TOKENS, dtype=torch.bool).tril()
MASK[..., 2, :] = False
"""Row 2 may look at nothing."""


def exported(module: nn.Module, inputs: Sequence[torch.Tensor], dynamo: bool) -> onnx.ModelProto:
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.onnx"
        torch.onnx.export(
            module.eval(),
            tuple(inputs),
            path,
            dynamo=dynamo,
            opset_version=20 if dynamo else 17,
            verbose=False,
        )
        return onnx.load(path)


def on_the_card(proto: onnx.ModelProto) -> tuple[Graph, Compiled]:
    graph = import_model(proto, {})
    card = load_card("v80")
    return graph, compile_graph(graph, card, card.release("").name)


def assert_runs_whole(proto: onnx.ModelProto, inputs: Sequence[torch.Tensor]) -> None:
    """Nothing that touches a float is left to others, outputs hold, and the card has a timing."""
    feeds = {v.name: t.numpy() for v, t in zip(proto.graph.input, inputs, strict=True)}
    session = card_session(proto)
    graph, program = on_the_card(proto)
    index_ops = Counter(node.op for node in graph.nodes if not touches_float(graph, node))
    assert Counter(taken(session, CPU)) <= index_ops
    assert taken(session)
    expected = cpu_session(proto).run(None, feeds)
    for actual, expected_output in zip(session.run(None, feeds), expected, strict=True):
        assert disagreement(actual, expected_output) == ""
    assert program.scheduler.after_idle(0).cycles > 0


def test_a_row_that_may_look_at_nothing_is_zero_as_the_graph_says() -> None:
    """The older exporter masks with minus infinity, so that the guard has something to catch."""
    proto = exported(Attention(), [X, MASK], dynamo=False)
    assert "IsNaN" in {node.op_type for node in proto.graph.node}
    feeds = {v.name: t.numpy() for v, t in zip(proto.graph.input, (X, MASK), strict=True)}
    (actual,) = card_session(proto).run(None, feeds)
    assert (actual[..., 2, :] == 0).all()
    assert np.isfinite(actual).all()


WHOLE = ("distilbert", "gpt2", "clip_text", "vit", "llama", "mamba")


class Positional(nn.Module):
    """A network that is called by keyword as one that is called in order, its first output."""

    def __init__(self, module: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.module(**dict(zip(self.names, tensors, strict=True)))[0]


@pytest.fixture(scope="module")
def factories() -> ModuleType:
    pytest.importorskip("transformers", reason="transformers is in the extra `dev`")
    folder = str(ROOT / "tests" / "survey")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("hugging_face")
    finally:
        sys.path.remove(folder)


@pytest.mark.parametrize("name", seldom_but(("distilbert", "llama"), WHOLE))
@pytest.mark.filterwarnings("ignore")
def test_a_transformer_runs_whole(name: str, factories: ModuleType) -> None:
    torch.manual_seed(0)
    make_module: Callable[[], tuple[nn.Module, Mapping[str, torch.Tensor]]] = getattr(
        factories, name
    )
    module, inputs = make_module()
    tensors = tuple(inputs.values())
    proto = exported(Positional(module, tuple(inputs)), tensors, dynamo=True)
    assert_runs_whole(proto, tensors)
