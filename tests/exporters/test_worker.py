"""The export process answers every line, whatever the line or the model does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exporters.cache import Store
from exporters.messages import ExportRequest
from exporters.types import ExportError, load_reference
from tests.exporters.support import WorkerProcess, save_affine

USER_FILE = """
from __future__ import annotations
from dataclasses import dataclass
import torch
from torch import nn
from helper_beside_it import WIDTH

@dataclass
class Sizes:
    width: int = WIDTH
    classes: int = 2

def factory():
    print("a user's file may print")
    return nn.Linear(Sizes.width, Sizes.classes), {"x": torch.zeros(1, WIDTH)}

def raises():
    raise RuntimeError("no weights here")

def needs(width):
    return nn.Linear(width, 2), {"x": torch.zeros(1, width)}

def bare():
    return nn.Linear(3, 2)

def tokens():
    return nn.Embedding(9, 4), {"token": torch.tensor([[0, 8]])}

def unfit():
    return nn.Linear(3, 2), {"x": torch.zeros(1, 4)}

class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.fold = nn.Unflatten(0, (2, -1))

    def forward(self, x):
        return self.fold(x).flatten(0, 1)

def halves():
    return Halves(), {"x": torch.zeros(2, 4)}
"""


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    (tmp_path / "helper_beside_it.py").write_text("WIDTH = 5\n")
    path = tmp_path / "mine.py"
    path.write_text(USER_FILE)
    return path


def test_a_bad_line_or_name_is_one_reply_and_the_process_lives(worker: WorkerProcess) -> None:
    assert worker.say("this is no JSON").status == "export_failed"
    assert worker.say('{"modle": "mlp"}').status == "export_failed"
    unknown_reply = worker.ask(ExportRequest("mpl"))
    assert (unknown_reply.status, unknown_reply.model) == ("export_failed", None)
    assert "did you mean 'mlp'" in unknown_reply.reason
    assert worker.ask(ExportRequest("mlp")).status == "ok"


TELL_TORCH = """
import sys
from exporters.worker.__main__ import main
main()
sys.exit("torch" in sys.modules)
"""


def test_a_model_that_is_in_the_cache_is_given_without_importing_torch(cache: Path) -> None:
    """It takes two seconds, at the start of each run and whenever an export process is renewed."""
    for is_stored in (False, True):
        process = WorkerProcess(cache, (sys.executable, "-c", TELL_TORCH))
        reply = process.ask(ExportRequest("mlp", points=({"batch": 5},)))
        assert (reply.status, reply.cached) == ("ok", is_stored), reply.reason
        assert process.close() == (not is_stored)


def test_a_second_request_comes_from_the_cache_and_a_new_point_does_not(
    worker: WorkerProcess,
) -> None:
    first = worker.ask(ExportRequest("mlp", points=({"batch": 1},)))
    again = worker.ask(ExportRequest("mlp", points=({"batch": 1},)))
    assert again.cached
    assert again.model == first.model
    assert first.model is not None
    wider = worker.ask(ExportRequest("mlp", points=({"batch": 1}, {"batch": 7})))
    assert not wider.cached
    assert wider.model is not None
    assert wider.model.sha256 == first.model.sha256
    assert load_reference(wider.model.references["batch=7"]).outputs["y"].shape == (7, 128)


def test_another_process_reads_what_the_first_one_stored(
    worker: WorkerProcess, cache: Path
) -> None:
    first_reply = worker.ask(ExportRequest("mlp"))
    other = WorkerProcess(cache)
    try:
        second_reply = other.ask(ExportRequest("mlp"))
    finally:
        assert other.close() == 0
    assert second_reply.cached
    assert second_reply.model == first_reply.model


def test_a_damaged_file_in_the_cache_is_exported_again(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    request = ExportRequest("mlp", cache_dir=str(tmp_path))
    first = worker.ask(request)
    assert first.model is not None
    path = Path(first.model.path)
    assert path.is_relative_to(tmp_path), "no other test has this file"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    again = worker.ask(request)
    assert (again.status, again.cached) == ("ok", False)
    assert path.read_bytes() == whole


def test_an_axis_that_does_not_exist_is_named(worker: WorkerProcess) -> None:
    missing = worker.ask(ExportRequest("mlp", points=({"bacth": 1},)))
    assert missing.status == "export_failed"
    assert "no axis 'bacth'" in missing.reason


def test_what_an_exporter_made_is_kept_until_its_parent_ends(cache: Path) -> None:
    process = WorkerProcess(cache)
    model = process.ask(ExportRequest("mlp")).model
    assert process.close() == 0
    assert model is not None
    store = Store(cache, limit_bytes=0)
    with pytest.raises(ExportError, match="may hold 0"):
        store.settle()
    assert Path(model.path).exists()
    assert all(Path(file).exists() for file in model.references.values())


def test_a_users_factory_becomes_a_model(worker: WorkerProcess, user_file: Path) -> None:
    reply = worker.ask(ExportRequest(f"{user_file}:factory", points=({"batch": 3},)))
    model = reply.model
    assert model is not None, reply.reason
    assert (model.name, model.parameters, model.macs) == ("mine:factory", 12, 10)
    assert model.inputs[0].shape == ("batch", 5)
    assert load_reference(model.references["batch=3"]).outputs["y"].shape == (3, 2)
    assert model.factory is not None
    assert model.factory.target == f"{user_file}:factory"


def test_a_users_indices_stay_in_the_range_of_their_example(
    worker: WorkerProcess, user_file: Path
) -> None:
    reply = worker.ask(ExportRequest(f"{user_file}:tokens", points=({"batch": 64},)))
    assert reply.model is not None, reply.reason
    tokens = load_reference(reply.model.references["batch=64"]).inputs["token"]
    assert tokens.shape == (64, 2)
    assert (tokens.min(), tokens.max()) == (0, 8)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("factry", "did you mean 'factory'"),
        ("raises", "RuntimeError: no weights here"),
        ("needs", "takes no arguments"),
        ("bare", "returned no module with inputs"),
        ("unfit", "cannot run its example inputs"),
        ("halves", "at 'fold'"),
    ],
)
def test_a_factory_that_is_of_no_use_says_why(
    worker: WorkerProcess, user_file: Path, function: str, words: str
) -> None:
    reply = worker.ask(ExportRequest(f"{user_file}:{function}"))
    assert reply.status == "export_failed"
    assert words in reply.reason


def test_a_file_that_is_no_python_says_so(worker: WorkerProcess, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def factory(:\n")
    assert "not valid Python" in worker.ask(ExportRequest(f"{tmp_path}/bad.py:factory")).reason
    assert "cannot be read" in worker.ask(ExportRequest(f"{tmp_path}/no.py:factory")).reason


def test_a_users_onnx_is_answered_by_the_same_process(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    save_affine(tmp_path / "affine.onnx")
    reply = worker.ask(ExportRequest(str(tmp_path / "affine.onnx"), points=({"batch": 2},)))
    assert reply.status == "ok"
    (tmp_path / "text.onnx").write_text("hello")
    assert "not an ONNX file" in worker.ask(ExportRequest(str(tmp_path / "text.onnx"))).reason
