"""Models of a program become files and names that a plan has."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from app.cases.errors import PlanError
from app.cli.interface.models import words_of
from tests.docs.test_python_page import network

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _change_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_paths_and_names_stay_as_they_are() -> None:
    assert words_of("mlp") == ["mlp"]
    assert words_of(Path("a.onnx")) == ["a.onnx"]
    assert words_of(("a.onnx", Path("b.onnx"))) == ["a.onnx", "b.onnx"]


def test_an_onnx_model_is_written_once_by_its_name() -> None:
    model = network(4)
    (first,), (second,) = words_of(model), words_of([model])
    (named_path,) = words_of({"mine": model})
    (other,) = words_of(network(5))
    assert first == second
    assert len({first, named_path, other}) == 3
    assert Path(first).name == "net.onnx"
    assert Path(named_path).name == "mine.onnx"
    assert onnx.load(first) == model


@pytest.mark.parametrize("form", ["pair", "function"])
def test_a_torch_module_is_exported_with_an_open_batch(form: str) -> None:
    # A sequence is one model, not several.
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout())
    example = torch.randn(1, 3)
    called = (module, {"signal": example})
    (word,) = words_of((lambda: called) if form == "function" else (module, example))
    session = pytest.importorskip("onnxruntime").InferenceSession(word)
    (model_input,) = session.get_inputs()
    batch = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    (result,) = session.run(None, {model_input.name: batch})
    with torch.inference_mode():
        expected = module[0](torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    assert module.training, "the caller's module keeps its mode"
    assert module[1].training


def test_a_function_of_a_file_is_named_and_not_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brought_net.py").write_text("def build():\n    raise RuntimeError\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("brought_net")
    try:
        assert words_of(module.build) == [f"{tmp_path / 'brought_net.py'}:build"]
    finally:
        del sys.modules["brought_net"]


@pytest.mark.parametrize(
    "models",
    [
        5,
        None,
        b"net.onnx",
        [],
        [3],
        {"name": "net.onnx"},
        torch.nn.ReLU(),
        (torch.nn.ReLU(),),
        (torch.nn.Linear(3, 2), torch.randn(1, 4)),
        lambda: 3,
    ],
    ids=lambda models: type(models).__name__,
)
def test_what_is_no_model_is_a_plan_error(models: Any) -> None:
    with pytest.raises(PlanError):
        words_of(models)
