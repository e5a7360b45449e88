"""Modules that give NaN or draw numbers are exported, and judged for what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exporters.diagnostics.catalogue import diagnostic
from exporters.messages import ExportRequest
from exporters.types import load_reference
from exporters.validation import relative_error
from exporters.worker.export import export

_FACTORIES = """
import torch

class Logarithm(torch.nn.Module):
    def forward(self, x):
        return torch.log(x)

class Noisy(torch.nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)

def logarithm():
    return Logarithm(), {"x": torch.zeros(2, 64)}

def noisy():
    return Noisy(), {"x": torch.zeros(2, 64)}
"""


def _request(tmp_path: Path, function: str) -> ExportRequest:
    file = tmp_path / "modules.py"
    file.write_text(_FACTORIES, "utf-8")
    return ExportRequest(f"{file}:{function}", cache_dir=str(tmp_path / "cache"))


def test_a_module_that_gives_nan_is_its_graph_where_both_do(tmp_path: Path) -> None:
    model, _ = export(_request(tmp_path, "logarithm"))
    assert (model.reference, model.uncompared) == ("torch", None)
    (file,) = model.references.values()
    (output,) = load_reference(file).outputs.values()
    assert np.isnan(output).any()


def test_a_module_that_draws_is_exported_and_said_to_draw(tmp_path: Path) -> None:
    model, _ = export(_request(tmp_path, "noisy"))
    assert model.uncompared == diagnostic("reference_not_deterministic", references="torch")


def test_nan_on_one_side_only_is_infinitely_wrong() -> None:
    nan_array = np.array([np.nan, 1], np.float32)
    assert relative_error(nan_array, nan_array) == 0
    assert relative_error(np.ones(2, np.float32), nan_array) == np.inf
    assert relative_error(nan_array, np.ones(2, np.float32)) == np.inf
