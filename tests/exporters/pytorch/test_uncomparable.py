"""Modules that give NaN, draw numbers or have narrow weights, and exports by another way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exporters.diagnostics.catalogue import codes, diagnostic
from exporters.messages import ExportRequest
from exporters.pytorch.to_onnx import WAYS, Way, nearest, told
from exporters.types import ExportedModel, ExportError, load_reference
from exporters.validation import check_numbers, relative_error
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


_NARROW_FACTORIES = """
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
    file.write_text(_NARROW_FACTORIES, "utf-8")
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


FAULTS = {way: ExportError(f"{way.exporter} {'fixed' if way.fixed else 'open'}") for way in WAYS}


def test_each_thing_that_was_done_is_told_with_its_own_cause() -> None:
    assert told(Way("new", False), {}) == ()
    sizes_finding = diagnostic("sizes_fixed", error="new open")
    assert told(Way("new", True), FAULTS) == (sizes_finding,)
    assert told(Way("old", True), FAULTS) == (
        sizes_finding,
        diagnostic("old_exporter", error="new fixed"),
    )


def test_a_module_that_no_way_takes_is_told_what_fails_at_one_size() -> None:
    """That a size is no axis is nothing to mend where the graph could have it baked in."""
    assert nearest(FAULTS).cause == "new fixed"
    assert nearest({Way("new", False): FAULTS[Way("new", False)]}).cause == "new open"
