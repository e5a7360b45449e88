"""`--resume` goes on with the very run that was begun, or says in one sentence why it can't."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.columns.rows import Rows
from app.runs.reader import read_run
from app.runs.verify import verify
from app.sweep import resumption
from runtimes.base import Unavailable
from runtimes.fpga import cards
from tests.app.headless.batch import FAKE, SLEEPING, launch, rows, run, wait_for_rounds
from tests.app.run_folder.resealed import reseal_journal, reseal_manifest
from tests.app.sweep.sweeps import write_add_graph
from tests.exporters.support import save_affine

FACTORY = """
import torch

from parts import WIDTH


def build():
    return torch.nn.Linear(4, WIDTH), {"x": torch.zeros(1, 4)}
"""


def interrupted(folder: Path, *arguments: str) -> Path:
    """A run that was stopped after its first round of many; `arguments` says of what."""
    process = launch("--headless", *arguments, "--rounds", "3", "--out", str(folder))
    wait_for_rounds(folder, 1, process)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 130
    return folder


def refused(folder: Path) -> str:
    """The sentence of a resume that writes nothing."""
    old_content = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, out, log = run("resume", str(folder))
    assert (code, out, log.count("\n")) == (2, "", 1), log
    assert old_content == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return log


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A folder with files of every kind, and a run that was begun with them."""
    work = tmp_path_factory.mktemp("same")
    (work / "nets").mkdir()
    save_affine(work / "nets" / "affine.onnx", external="affine.weights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(cache))
        patch.chdir(work)
        interrupted(work / "run", "--models", "nets/affine.onnx", *FAKE, *SLEEPING, "--batch", "2")
    return work


@pytest.fixture
def begun(measured: Path, tmp_path: Path, work: Path) -> Path:
    """A copy of it, as the current folder."""
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True)
    manifest = tmp_path / "run" / "manifest.json"
    # The copy was begun where it lies.
    text = manifest.read_text().replace(str(measured), str(tmp_path))
    manifest.write_text(text)
    reseal_manifest(manifest)
    return tmp_path


def _other_content(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [Path.unlink, _other_content])
@pytest.mark.parametrize("name", ["affine.onnx", "affine.weights"])
def test_a_model_that_is_gone_or_changed_is_refused_and_put_back_it_goes_on(
    begun: Path, name: str, harm: Callable[[Path], None]
) -> None:
    path = begun / "nets" / name
    content = path.read_bytes()
    harm(path)
    assert name in refused(begun / "run")
    path.write_bytes(content)
    if harm is Path.unlink and name == "affine.onnx":
        assert run("resume", "run")[0] == 0
        (row,) = rows(begun / "run")
        assert (row["status"], row["rounds"]) == ("ok", "3")


def test_a_resume_from_another_folder_measures_the_same_files(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (begun / "other").mkdir()
    monkeypatch.chdir(begun / "other")
    assert run("resume", "../run")[0] == 0
    assert Path.cwd() == begun / "other"
    (row,) = rows(begun / "run")
    assert (row["status"], row["rounds"]) == ("ok", "3")
    assert not verify(begun / "run").findings
    monkeypatch.chdir(begun)
    shutil.move(begun / "nets", begun / "other")
    monkeypatch.chdir(begun / "other")  # where the relative path would lead to a file
    assert "affine.onnx" in refused(begun / "run")


def test_a_repeat_from_another_folder_measures_the_same_files(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (begun / "other").mkdir()
    monkeypatch.chdir(begun / "other")
    assert run("--headless", "--plan", "../run", "--out", "again")[0] == 0
    assert [row["status"] for row in rows(begun / "other" / "again")] == ["ok"]


def test_a_factory_and_what_it_imports_must_be_as_they_were(work: Path) -> None:
    (work / "net.py").write_text(FACTORY)
    (work / "parts.py").write_text("WIDTH = 2\n")
    arguments = ("--models", "net.py:build", *FAKE, "--rounds", "1", "--out", "run")
    assert run("--headless", "--preset", "glance", *arguments)[0] == 0
    for name in ("net.py", "parts.py"):
        content = (work / name).read_text()
        (work / name).write_text(content + "\n")
        assert name in refused(work / "run")
        code, _, log = run("--headless", "--plan", "run", "--out", "again")
        assert (code, (work / "again").exists()) == (2, False)
        assert name in log
        (work / name).write_text(content)
    assert run("resume", "run")[0] == 0, "they are as they were"


def test_a_card_must_be_as_it_was(work: Path) -> None:
    shutil.copy(Path(cards.__file__).with_name("v80.toml"), work / "own.toml")
    arguments = (
        "--models",
        "add.onnx",
        "--runtimes",
        "fpga:own.toml",
        "--rounds",
        "1",
        "--out",
        "run",
    )
    assert run("--headless", *arguments)[0] == 0
    with (work / "own.toml").open("a") as file:
        file.write("\n")
    assert "own.toml" in refused(work / "run")


def test_an_engine_that_measured_rounds_and_is_gone_is_refused(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--models", "add.onnx", *FAKE, "--rounds", "1", "--out", "run")
    assert run("--headless", *arguments)[0] == 0
    unavailable = Unavailable("the package is not installed", "pip install it")
    monkeypatch.setattr(resumption, "availability_of", lambda *_: unavailable)
    assert "the package is not installed" in refused(work / "run")


def test_a_link_in_a_run_folder_is_refused(work: Path) -> None:
    arguments = ("--models", "add.onnx", *FAKE, "--rounds", "1", "--out", "run")
    assert run("--headless", *arguments)[0] == 0
    (work / "telemetry").mkdir()
    for name in ("journal", "samples", "lock", "telemetry"):
        inner_path, outer_path = work / "run" / name, work / name
        if inner_path.exists():
            inner_path.rename(outer_path)
        inner_path.symlink_to(outer_path)
        code, _, log = run("resume", "run")
        assert (code, log.count("\n")) == (2, 1), name
        assert f"{name} is a link" in log
        inner_path.unlink()
        if name != "telemetry":
            outer_path.rename(inner_path)
    assert run("resume", "run")[0] == 0, "without the links it is whole"


def test_rounds_of_two_graphs_have_no_interval_and_are_damage(work: Path) -> None:
    arguments = ("--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run")
    assert run("--headless", *arguments)[0] == 0
    (journal,) = (work / "run" / "journal").iterdir()
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    last = [line for line in lines if line["kind"] == "round"][-1]
    assert last["model_sha256"]
    last["model_sha256"] = "0" * 64
    new_lines = (json.dumps(line, separators=(",", ":")) for line in lines)
    journal.write_text("\n".join([*new_lines, ""]))
    reseal_journal(journal)
    assert verify(work / "run").damaged
    (result,) = Rows().measured(read_run(work / "run"))
    assert result.summary is None and result.row["valid"] is False
    assert result.row["latency_p50_us"] and result.row["latency_p50_ci_low_us"] is None
    assert "mixed_graphs" in str(result.row["warning_codes"])


def test_a_journal_of_another_run_is_refused(work: Path) -> None:
    write_add_graph(work / "other.onnx", (7,))
    for name in ("add", "other"):
        arguments = ("--models", f"{name}.onnx", *FAKE, "--rounds", "1", "--out", name)
        assert run("--headless", *arguments)[0] == 0
    (foreign,) = (work / "other" / "journal").iterdir()
    shutil.copy(foreign, work / "add" / "journal")
    assert "another run" in refused(work / "add")
    copy = work / "add" / "journal" / foreign.name  # as a release without the run's id wrote it
    writer, *other_lines = copy.read_text().splitlines()
    bare = {key: value for key, value in json.loads(writer).items() if key != "run_id"}
    copy.write_text("\n".join([json.dumps(bare, separators=(",", ":")), *other_lines, ""]))
    reseal_journal(copy)
    assert "not in its manifest" in refused(work / "add")
    assert verify(work / "add").damaged
