"""A module that writes to its inputs computes each run on what was bound, and the row says how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exporters.diagnostics import diagnostic
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, Precision, Reference, load_reference
from exporters.worker import export
from runtimes.base import Lane
from runtimes.options import Settings
from runtimes.pytorch.runtime import TorchCpu
from tests.runtimes.pytorch.host_place import opened

MODULES = """
import torch

class Normalise(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x.sub_(0.5).div_(0.2))

class ReturnsItsInput(torch.nn.Module):
    def forward(self, x, scale):
        return x.mul_(scale), scale

class ReturnsItsBuffer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(2, 4))

    def forward(self, x):
        self.kept.copy_(x)
        return self.kept.mul_(2.0)

class Pure(torch.nn.Module):
    def forward(self, x):
        return x.sub(0.5)

ONES = torch.ones(2, 4)

def normalise(): return Normalise(), {"x": ONES.clone()}
def returned(): return ReturnsItsInput(), {"x": ONES.clone(), "scale": 2 * ONES}
def buffer(): return ReturnsItsBuffer(), {"x": ONES.clone()}
def pure(): return Pure(), {"x": ONES.clone()}
"""


def exported(folder: Path, name: str) -> ExportedModel:
    file = folder / "written.py"
    file.write_text(MODULES)
    return export(ExportRequest(f"{file}:{name}", cache_dir=str(folder / "cache")))[0]


def reference_of(model: ExportedModel) -> Reference:
    (file,) = model.references.values()
    return load_reference(file)


def repeats(lane: Lane, reference: Reference, tolerance: float) -> bool:
    """Whether the third run after a binding still gives the expected outputs."""
    lane.bind(reference.inputs)
    for _ in range(3):
        lane.poison()
        lane.run()
    outputs = lane.outputs()
    return all(
        np.allclose(outputs[name], array, rtol=tolerance, atol=tolerance)
        for name, array in reference.outputs.items()
    )


@pytest.mark.parametrize(
    ("name", "written"),
    [("normalise", ("x",)), ("returned", ("x",)), ("buffer", ()), ("pure", ())],
)
def test_every_run_computes_on_what_was_bound(
    name: str, written: tuple[str, ...], tmp_path: Path
) -> None:
    model = exported(tmp_path, name)
    assert model.written_inputs == written
    reference = reference_of(model)
    assert np.array_equal(reference.inputs["x"], np.ones((1, 4), np.float32))
    tolerances: dict[Precision, float] = {"fp32": 1e-5, "bf16": 0.05}
    for precision, tolerance in tolerances.items():
        settings = Settings(threads=1, precision=precision)
        with TorchCpu().compile(model, {"batch": 1}, settings) as session:
            (lane,) = session.lanes
            assert repeats(lane, reference, tolerance)
            copy_finding = diagnostic("inputs_copied", inputs=written)
            assert (copy_finding in session.execution.warnings) == bool(written)


@pytest.mark.parametrize("boundary", ["host", "device"])
@pytest.mark.parametrize("recorded", [False, True])
def test_it_is_so_on_a_gpu_at_both_boundaries(
    boundary: str, recorded: bool, tmp_path: Path
) -> None:
    model = exported(tmp_path, "returned")
    with opened(model, boundary, recorded) as session:
        assert repeats(session.lanes[0], reference_of(model), 1e-5)
