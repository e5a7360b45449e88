"""Modules whose weights are narrow are exported, and checked as their arithmetic allows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exporters.diagnostics.catalogue import codes
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, ExportError, load_reference
from exporters.validation import check_numbers
from exporters.worker.export import export

_FACTORIES = """
import torch
from torch import nn

class Cast(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        layers = nn.Linear(64, 96), nn.LayerNorm(96), nn.ReLU(), nn.Linear(96, 8)
        self.net, self.dtype = nn.Sequential(*layers).to(dtype), dtype

    def forward(self, x):
        return self.net(x.to(self.dtype)).float()

def half():
    return Cast(torch.float16).net, {"x": torch.randn(1, 64).half()}

def half_inside():
    return Cast(torch.float16), {"x": torch.randn(1, 64)}

def brain_inside():
    return Cast(torch.bfloat16), {"x": torch.randn(1, 64)}
"""


def _export(tmp_path: Path, function: str) -> ExportedModel:
    file = tmp_path / "modules.py"
    file.write_text(_FACTORIES, "utf-8")
    return export(ExportRequest(f"{file}:{function}", cache_dir=str(tmp_path / "cache")))[0]


@pytest.mark.parametrize("function", ["half", "half_inside"])
def test_a_module_in_half_is_exported_though_it_rounds_more_than_a_float_one(
    function: str, tmp_path: Path
) -> None:
    model = _export(tmp_path, function)
    assert (model.narrowest, model.reference, model.warnings) == ("fp16", "torch", ())


def test_a_graph_in_half_that_is_not_its_module_is_refused(tmp_path: Path) -> None:
    model = _export(tmp_path, "half_inside")
    (file,) = model.references.values()
    reference = load_reference(file)
    expected = {name: array * np.float32(1.05) for name, array in reference.outputs.items()}
    points = [(reference.inputs, expected)]
    with pytest.raises(ExportError, match=r"differs from its torch module by 0\.04"):
        check_numbers(Path(model.path), "half_inside", points, tolerance=1e-2)
    nan_outputs = {name: array * np.float32(np.nan) for name, array in reference.outputs.items()}
    with pytest.raises(ExportError, match="is finite where that is not"):
        check_numbers(
            Path(model.path), "half_inside", [(reference.inputs, nan_outputs)], tolerance=1e-2
        )


def test_a_module_that_computes_in_bf16_is_there_for_engines_that_do(tmp_path: Path) -> None:
    model = _export(tmp_path, "brain_inside")
    assert (model.narrowest, model.reference) == ("bf16", "torch")
    assert codes(model.warnings) == ("graph_not_run",)
