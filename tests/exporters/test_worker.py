"""A child of ours finds its own packages and answers every line, whatever the model does."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from exporters import install_layout
from exporters.cache import Store
from exporters.codec import to_json
from exporters.messages import ExportRequest
from exporters.types import ExportError, load_reference
from exporters.validation import TooSlow, within
from exporters.worker.__main__ import _failed
from runtimes.pytorch.session import build_module
from tests.exporters.support import WorkerProcess, model_of
from tests.processes import Ended, ended

USER_FILE = """
from __future__ import annotations
from dataclasses import KW_ONLY, dataclass
import torch
from torch import nn
from helper_beside_it import WIDTH

@dataclass
class Sizes:
    width: int
    _: KW_ONLY
    classes: int = 2

def factory():
    print("a user's file may print")
    return nn.Linear(Sizes(WIDTH).width, Sizes.classes), {"x": torch.zeros(1, WIDTH)}

def raises():
    raise RuntimeError("no weights here")

def needs(width):
    return nn.Linear(width, 2), {"x": torch.zeros(1, width)}

def bare():
    return nn.Linear(3, 2)

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


TELL_SLOW = """
import sys
from exporters.worker.__main__ import main
main()
sys.exit(bool({"torch", "onnx.reference"} & {*sys.modules}))
"""


def test_a_model_that_is_in_the_cache_is_given_without_slow_imports(
    worker: WorkerProcess, cache: Path
) -> None:
    """They take two seconds, at the start of each run and when an export process is renewed."""
    assert worker.ask(ExportRequest("mlp")).status == "ok"
    process = WorkerProcess(cache, (sys.executable, "-c", TELL_SLOW))
    reply = process.ask(ExportRequest("mlp"))
    assert (reply.status, reply.cached) == ("ok", True), reply.reason
    assert process.close() == 0


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
    model = worker.export(ExportRequest(f"{user_file}:factory", points=({"batch": 3},)))
    assert (model.name, model.parameters, model.macs) == ("mine:factory", 12, 10)
    assert model.inputs[0].shape == ("batch", 5)
    reference = load_reference(model.references["batch=3"])
    assert reference.outputs["y"].shape == (3, 2)
    assert model.inputs_drawn == "x normal", "zeros only give a shape"
    assert reference.inputs["x"].std() > 0.1
    assert model.factory is not None
    with torch.inference_mode():
        native = build_module(model.factory).module(torch.from_numpy(reference.inputs["x"])).numpy()
    assert np.array_equal(native, reference.outputs["y"])
    assert model.factory.target == f"{user_file}:factory"


@pytest.mark.parametrize(
    ("function", "named"),
    [
        ("factry", "'factory'"),
        ("raises", "RuntimeError: no weights here"),
        ("needs", "needs"),
        ("bare", "bare"),
        ("unfit", "unfit"),
        ("halves", "'fold'"),
    ],
)
def test_a_factory_that_is_of_no_use_says_why(
    worker: WorkerProcess, user_file: Path, function: str, named: str
) -> None:
    reply = worker.ask(ExportRequest(f"{user_file}:{function}"))
    assert reply.status == "export_failed"
    assert named in reply.reason
    user_file.write_text("def factory(:\n")
    for file in (user_file, user_file.with_name("no.py")):
        assert file.name in worker.ask(ExportRequest(f"{file}:factory")).reason


def test_a_want_of_memory_is_no_fault_of_the_model(worker: WorkerProcess, tmp_path: Path) -> None:
    error = ExportError("too large", "make it smaller")
    error.__cause__ = MemoryError()
    raised: list[Exception] = [
        MemoryError("Unable to allocate"),
        error,
        RuntimeError("std::bad_alloc"),
    ]
    assert [_failed(each).status for each in raised] == ["out_of_memory"] * 3
    raised = [ExportError("wrong", "mend"), ValueError("wrong")]
    assert [_failed(each).status for each in raised] == ["export_failed"] * 2
    path = tmp_path / "large.onnx"
    text = "(float[4194304,4194304] x) => (float y) { y = ReduceMax <keepdims = 0> (x) }"
    onnx.save(model_of(text), path)
    reply = worker.ask(ExportRequest(str(path)))
    assert reply.status == "out_of_memory", reply.reason


@pytest.mark.parametrize("length", [64_000, 70_000, 1_000_000])
def test_a_name_that_no_file_holds_is_refused_in_a_sentence(
    length: int, worker: WorkerProcess, tmp_path: Path
) -> None:
    name, path = "n" * length, tmp_path / "long.onnx"
    onnx.save(model_of(f"(float[4] {name}) => (float[4] y) {{ y = Relu({name}) }}"), path)
    reply = worker.ask(ExportRequest(str(path)))
    assert reply.status == ("ok" if length < 65_000 else "export_failed")
    assert len(reply.reason) < 400


def test_a_loop_without_an_end_is_ended_even_if_it_catches_every_error() -> None:
    def endless() -> None:
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue

    with pytest.raises(TooSlow):
        within(0.2, endless)
    assert not [thread for thread in threading.enumerate() if thread.name == "limited"]


BOOT = Path(install_layout.__file__).with_name("boot.py")

# Tells which of the modules that it is given by name can be imported.
FINDER = """
import sys
from importlib.util import find_spec
print([name for name in sys.argv[1:] if find_spec(name)])
"""


def _fill_with_our_names(folder: Path) -> Path:
    """What a user's own project may hold: modules called as ours or as what we need."""
    for package in ("app", "assets", "exporters", "runtimes"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text("raise ImportError('the package of a user')")
    for module in ("numpy", "json", "torch"):
        (folder / f"{module}.py").write_text("raise ImportError('the module of a user')")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return _fill_with_our_names(tmp_path / "project")


@pytest.fixture
def on_the_path(tmp_path: Path) -> Path:
    return _fill_with_our_names(tmp_path / "elsewhere")


def _run(
    command: Sequence[str | Path], path: object, cwd: Path | None = None, stdin_text: str = ""
) -> Ended:
    """A child whose user has `path` as PYTHONPATH."""
    environment = install_layout.child_environment({**os.environ, "PYTHONPATH": str(path)})
    return ended(*command, input=stdin_text, cwd=cwd, env=environment)


def _exported(request: ExportRequest, path: Path, cwd: Path) -> str:
    """Why the export process that begins there could not export it."""
    command = install_layout.command("exporters.worker")
    process = _run(command, path, cwd, json.dumps(to_json(request)) + "\n")
    assert process.returncode == 0, process.stderr
    return str(json.loads(process.stdout)["reason"])


def _boot(how: str, root: Path, path: object, *arguments: str) -> str:
    process = _run((sys.executable, "-P", BOOT, how, root, *arguments), path)
    assert process.returncode == 0, process.stderr
    return process.stdout


def _holding(folder: Path, **sources: str) -> Path:
    """A folder of modules with these sources; `dist_info` names one that is installed there."""
    folder.mkdir(parents=True)
    if name := sources.pop("dist_info", ""):
        (folder / f"{name}-1.0.dist-info").mkdir()
    for module, source in sources.items():
        (folder / f"{module}.py").write_text(source)
    return folder


def test_a_round_starts_beside_a_users_own_app_and_numpy(project: Path, on_the_path: Path) -> None:
    process = _run(install_layout.command("app.workers.measure"), on_the_path, project)
    assert (process.returncode, process.stdout) == (2, "")
    assert "Traceback" not in process.stderr and process.stderr.count("\n") == 1


def test_a_factory_file_may_import_what_only_the_users_path_has(
    project: Path, on_the_path: Path, tmp_path: Path
) -> None:
    (on_the_path / "sizes_of_mine.py").write_text("WIDTH = 6\n")
    file = project / "mine.py"
    file.write_text(
        "import torch\n"
        "from sizes_of_mine import WIDTH\n"
        "def factory():\n"
        "    raise ValueError(f'{torch.zeros(WIDTH).numel()} wide')\n"
    )
    request = ExportRequest(f"{file}:factory", cache_dir=str(tmp_path / "cache"))
    assert "6 wide" in _exported(request, on_the_path, project)


def test_packages_installed_to_a_folder_of_the_path_can_be_imported_and_sources_cannot(
    tmp_path: Path,
) -> None:
    """An engine may lie where `pip install --target` has put it."""
    installed = _holding(tmp_path / "installed", dist_info="an_engine", an_engine="")
    bare = _holding(tmp_path / "bare", a_script="")
    root = _holding(tmp_path / "root", finder=FINDER)
    path = f"{installed}{os.pathsep}{bare}"
    assert _boot("first", root, path, "finder", "an_engine", "a_script") == "['an_engine']\n"


def test_what_the_path_holds_comes_after_what_is_installed(tmp_path: Path) -> None:
    """A folder of installed packages may hold another numpy than the one that runs here."""
    raising = "raise ImportError('the module of a user')"
    installed = _holding(tmp_path / "installed", dist_info="numpy", numpy=raising)
    root = _holding(tmp_path / "root", asker="import numpy\nprint(numpy.arange(2).sum())\n")
    assert _boot("first", root, installed, "asker") == "1\n"


def test_a_child_does_not_hand_the_users_path_on_as_its_own() -> None:
    child = install_layout.child_environment({"PYTHONPATH": "/of/a/user", "HOME": "/home"})
    assert child == {install_layout.USER_PATH: "/of/a/user", "HOME": "/home"}
    assert install_layout.child_environment(child) == child
    assert install_layout.child_environment({"PYTHONPATH": ""}) == {}


def test_an_environment_finds_our_packages_and_no_engine_that_lies_beside_them(
    tmp_path: Path,
) -> None:
    """In a wheel they lie in site-packages: its engine would be measured under another's name."""
    beside = _holding(tmp_path / "beside", an_engine="")
    _holding(beside / "graphlap", finder=FINDER)
    path = _holding(tmp_path / "path", dist_info="another_engine", another_engine="")
    names = ("graphlap.finder", "an_engine", "another_engine", "numpy")
    found = _boot("for:.so:python", beside, path, "graphlap.finder", *names)
    assert found == "['graphlap.finder', 'numpy']\n"
