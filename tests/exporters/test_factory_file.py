"""A user's factory file runs as his own script does, for who exports it and for who runs it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from exporters.messages import ExportRequest
from exporters.model_names import is_factory_file, locate, run_file
from exporters.types import ExportError, load_reference
from runtimes.pytorch.session import build_module
from tests.exporters.support import WorkerProcess

# Under the future import a dataclass looks its own module up to read its annotations.
WITH_A_DATACLASS = """
from __future__ import annotations
from dataclasses import KW_ONLY, dataclass
import torch

@dataclass
class Sizes:
    width: int
    _: KW_ONLY
    classes: int = 3

def factory():
    sizes = Sizes(4)
    return torch.nn.Linear(sizes.width, sizes.classes), {"x": torch.zeros(1, sizes.width)}
"""


def test_a_file_with_a_dataclass_exports_and_runs_on_torch(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    file = tmp_path / "dataclass_of_mine.py"
    file.write_text(WITH_A_DATACLASS)
    model = worker.ask(ExportRequest(f"{file}:factory", points=({"batch": 2},))).model
    assert model is not None
    assert model.factory is not None
    reference = load_reference(model.references["batch=2"])
    with torch.inference_mode():
        native = build_module(model.factory).module(torch.from_numpy(reference.inputs["x"])).numpy()
    assert np.array_equal(native, reference.outputs["y"])


def test_a_file_imports_what_lies_beside_it_and_leaves_the_path_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("NUMBER = 5\n")
    file = tmp_path / "mine.py"
    file.write_text("from beside_it import NUMBER\n")
    path_before = list(sys.path)
    assert run_file(file).NUMBER == 5
    assert sys.path == path_before


def test_a_file_called_as_a_package_does_not_hide_it(tmp_path: Path) -> None:
    file = tmp_path / "numpy.py"
    file.write_text("VALUE = 1\n")
    assert run_file(file).VALUE == 1
    assert sys.modules["numpy"] is np


def test_a_file_that_raises_leaves_the_path_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise ValueError('of a user')\n")
    path_before = list(sys.path)
    with pytest.raises(ValueError, match="of a user"):
        run_file(file)
    assert sys.path == path_before


def test_looking_a_factory_up_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise ValueError\ndef build():\n    pass\n")
    location = locate(f"{file}:build")
    assert (location.path, location.function) == (file, "build")
    with pytest.raises(ExportError, match="did you mean 'build'"):
        locate(f"{file}:biuld")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("net.py:build", True), ("~/a b/net.py:build", True), ("net.onnx", False), ("mlp", False)],
)
def test_a_factory_file_is_told_by_its_form(name: str, is_one: bool) -> None:
    assert is_factory_file(name) == is_one
