"""Transformers as Hugging Face writes them run whole on the card; random weights, small."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType

import pytest
import torch
from torch import nn

from tests.checkout import ROOT
from tests.runtimes.fpga.test_attention import assert_runs_whole, exported
from tests.seldom import seldom_but

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
