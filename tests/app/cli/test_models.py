"""Models as arguments of a command: what they may be, and what measures them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.cli.measuring import with_models
from app.cli.parsers import parse
from app.cli.table import BY_NAME
from app.machine.installed_runtimes import available_names, clock_of, runtime
from app.plan.command_line import with_all_settings
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.plan_files import load_suite
from app.plan.runtime_selection import with_default_runtimes
from tests.app.sweep.sweeps import write_add_graph


def planned(*words: str) -> Plan:
    """The plan of `graphlap run`."""
    options = with_models(with_all_settings(parse(BY_NAME["run"], words)))
    plan = plan_from_options(options)
    return with_default_runtimes(plan) if options.models_named else plan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets").mkdir()
    for name in ("a", "b"):
        write_add_graph(tmp_path / "nets" / f"{name}.onnx")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_folder_stands_for_its_files() -> None:
    (sweep,) = planned("nets", "--runtimes", "fake").sweeps
    assert sweep.models == ("nets/a.onnx", "nets/b.onnx")


def test_a_folder_of_folders_stands_for_patterns_that_match_what_lies_there(folder: Path) -> None:
    """As Triton keeps models and versions, with one model whose weights lie beside it."""
    places = ("a[1]/1/model.onnx", "a[1]/2/model.onnx", "b/1/model.onnx/model.onnx", "c/x.onnx")
    for place in places:
        (folder / "store" / place).parent.mkdir(parents=True)
        write_add_graph(folder / "store" / place)
    (folder / "store/b/1/model.onnx/weights.bin").write_bytes(b"\x80\4")
    (sweep,) = planned("store", "--runtimes", "fake").sweeps
    assert {case.model for case in expand(planned("store", "--runtimes", "fake"))} == {
        f"store/{place}" for place in places
    }
    assert {"store/*/x.onnx", "store/*/*/*/model.onnx"} < set(sweep.models)
    assert planned(*sweep.models, "--runtimes", "fake").sweeps[0].models == sweep.models


@pytest.mark.usefixtures("folder")
def test_a_folder_without_a_graph_tells_what_lies_there_instead() -> None:
    Path("empty").mkdir()
    Path("empty/README.md").write_text("nothing")
    with pytest.raises(PlanError, match=r"no \.onnx file"):
        planned("empty")
    for place, word in {
        "t/1/model.savedmodel/saved_model.pb": "tf2onnx.convert --saved-model t/1/model.savedmodel",
        "p/1/model.pt": "torch.onnx.export",
        "e/1/model.plan": "TensorRT",
    }.items():
        Path(place).parent.mkdir(parents=True)
        Path(place).write_bytes(b"\x08\1")
        with pytest.raises(PlanError, match=word):
            planned(place[0])


@pytest.mark.parametrize("name", ["best.pt", "best.weights", "best.safetensors"])
def test_a_checkpoint_is_told_how_to_become_a_graph(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("best/data.pkl", b"\x80\2}q\0.")
    with pytest.raises(PlanError, match=r"torch\.onnx\.export"):
        expand(planned(name, "--runtimes", "fake"))
    (folder / "config.json").write_text("{}")
    with pytest.raises(PlanError, match="graphlap run hf:"):
        expand(planned(name, "--runtimes", "fake"))


@pytest.mark.usefixtures("folder")
def test_a_file_is_measured_by_the_engines_that_open_it() -> None:
    (sweep,) = planned("nets/a.onnx").sweeps
    real_runtimes = [name for name in available_names() if clock_of(name) != "simulated"]
    assert sweep.runtimes == tuple(
        name for name in real_runtimes if not runtime(name).builds_module
    )
    assert "ort-cpu" in sweep.runtimes
    assert "torch-cpu" in real_runtimes


@pytest.mark.usefixtures("folder")
def test_files_and_modules_have_runtimes_of_their_own() -> None:
    files, modules = planned("nets/a.onnx", "mlp", "nets/b.onnx").sweeps
    assert files.models == ("nets/a.onnx", "nets/b.onnx")
    assert modules.models == ("mlp",)
    assert set(modules.runtimes) - set(files.runtimes) >= {"torch-cpu"}
    assert not {"fpga", "fake"} & {*files.runtimes, *modules.runtimes}


def test_a_suite_and_a_plan_keep_their_own_runtimes(folder: Path) -> None:
    assert planned("starter") == load_suite("starter")
    (folder / "p.toml").write_text('[[sweeps]]\nmodels = ["mlp"]\n', "utf-8")
    (sweep,) = planned("p.toml").sweeps
    assert sweep.runtimes == ()


@pytest.mark.parametrize(
    "words",
    [
        ["starter", "mlp"],
        ["starter", "--suite", "layers"],
        ["p.toml", "q.toml"],
        ["mlp", "--models", "mlp"],
    ],
    ids=" ".join,
)
def test_two_answers_to_what_is_measured_are_refused(words: list[str]) -> None:
    with pytest.raises(PlanError) as caught:
        planned(*words)
    assert caught.value.remedy
