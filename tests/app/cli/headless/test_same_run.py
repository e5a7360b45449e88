"""A resume goes on with the very run that was begun, or says in one sentence why it can't."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.jobs import SCOUT, AccuracyResult, ColdStart
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run
from app.runs.reader import read_run
from app.runs.verify import verify
from app.sweep import resumption
from runtimes.base import Unavailable
from runtimes.fpga import cards
from tests.app.cli.headless.batch import FAKE, SLEEPING, launch, rows, run, wait_for_rounds
from tests.app.run_folder.resealed import reseal_journal, reseal_manifest
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record
from tests.app.sweep.sweeps import write_add_graph
from tests.app.workers.labelled_files import write_arrays, write_echo_graph
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
    assert ": " in log.removeprefix("graphlap: "), "there is a remedy"
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


def test_a_resume_or_a_repeat_from_another_folder_measures_the_same_files(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (begun / "other").mkdir()
    monkeypatch.chdir(begun / "other")
    assert run("resume", "../run")[0] == 0
    assert Path.cwd() == begun / "other"
    (row,) = rows(begun / "run")
    assert (row["status"], row["rounds"]) == ("ok", "3")
    assert not verify(begun / "run").findings
    assert run("--headless", "--plan", "../run", "--out", "again")[0] == 0
    assert [row["status"] for row in rows(begun / "other" / "again")] == ["ok"]
    monkeypatch.chdir(begun)
    shutil.move(begun / "nets", begun / "other")
    monkeypatch.chdir(begun / "other")  # where the relative path would lead to a file
    assert "affine.onnx" in refused(begun / "run")


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
    arguments = ("--headless", "--models", "add.onnx", "--runtimes", "fpga:own.toml")
    assert run(*arguments, "--rounds", "1", "--out", "run")[0] == 0
    with (work / "own.toml").open("a") as file:
        file.write("\n")
    assert "own.toml" in refused(work / "run")


def test_an_engine_that_measured_rounds_and_is_gone_is_refused(
    ended_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unavailable = Unavailable("the package is not installed", "pip install it")
    monkeypatch.setattr(resumption, "availability_of", lambda *_: unavailable)
    assert "the package is not installed" in refused(ended_run)


def test_a_journal_of_another_run_is_refused(ended_run: Path, work: Path) -> None:
    other = str(write_add_graph(work / "other.onnx", (7,)))
    arguments = ("--models", other, *FAKE, "--rounds", "1", "--out", "other")
    assert run("--headless", *arguments)[0] == 0
    (foreign,) = (work / "other" / "journal").iterdir()
    shutil.copy(foreign, ended_run / "journal")
    assert "another run" in refused(ended_run)
    copy = ended_run / "journal" / foreign.name
    writer, *other_lines = copy.read_text().splitlines()
    bare = {key: value for key, value in json.loads(writer).items() if key != "run_id"}
    copy.write_text("\n".join([json.dumps(bare, separators=(",", ":")), *other_lines, ""]))
    reseal_journal(copy)
    assert "run_id" in refused(ended_run)
    assert verify(ended_run).damaged


COLD_STARTS = 2
ASKED = (
    *("--headless", "--models", "echo.onnx", "--batch", "1", "--runtimes", "ort-cpu"),
    *("--rounds", "1", "--op-times", "--cold-start", str(COLD_STARTS)),
    *("--accuracy", "data.npz", "--time-limit", "60", "--memory-limit", "4GiB"),
)
KINDS = ("operators", "accuracy", "cold_start")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run that has all of them."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        write_echo_graph(folder / "echo.onnx")
        write_arrays(folder / "data.npz", 100, wrong=25)
        assert main([*ASKED, "--out", "run"]) == 0
        yield folder / "run"


@pytest.fixture
def followed(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def fail_follow_ups(folder: Path) -> None:
    """Make each follow-up of the journal one that failed; of the cold starts the scout alone."""
    (journal,) = (folder / "journal").iterdir()
    lines = []
    for text in journal.read_text("utf-8").splitlines():
        line = json.loads(text)
        if line["kind"] == "cold_start" and line["process"] > 0:
            continue
        if line["kind"] in KINDS:
            line |= {"reason": "it was killed", "transient": True}
            empty_values = {"process": SCOUT, "phases_ms": {}, "top1": None, "file": ""}
            empty_values |= {"total_us": 0.0}
            line |= {name: value for name, value in empty_values.items() if name in line}
        lines.append(json.dumps(line))
    journal.write_text("\n".join(lines) + "\n", "utf-8")
    reseal_journal(journal)


def reasons(run: Run) -> list[str]:
    cold = [start for starts in run.results[ColdStart].values() for start in starts.values()]
    accuracies = run.result_by_subject(AccuracyResult).values()
    return [line.reason for line in (*run.operators.values(), *accuracies, *cold)]


def test_what_circumstances_made_fail_is_tried_again(followed: Path) -> None:
    run_before = read_run(followed)
    (row,) = rows(followed)
    fail_follow_ups(followed)
    failed_run = read_run(followed)
    assert reasons(failed_run) == ["it was killed"] * 3
    assert run("resume", str(followed))[0] == 0
    run_after = read_run(followed)
    assert not any(reasons(run_after))
    assert run_after.results[AccuracyResult] == run_before.results[AccuracyResult]
    assert {s: set(k) for s, k in run_after.results[ColdStart].items()} == {
        s: set(range(COLD_STARTS)) for s in run_before.results[ColdStart]
    }
    (again,) = rows(followed)
    assert again["accuracy_top1"] == row["accuracy_top1"] == "0.75"
    assert again["cold_processes"] == str(COLD_STARTS)
    assert again["cold_missing_reason"] == ""
    assert all((followed / line.file).is_file() for line in run_after.operators.values())
    assert run_after.rounds == run_before.rounds, "no round is measured again"


@pytest.fixture
def folder(work: Path) -> Path:
    with RunFolder.create(work / "run", manifest_of((CASE,), rounds=1)) as run_folder:
        run_folder.begin(ENVIRONMENT)
        record(run_folder, CASE, 0, [10.0] * 8)
    return work / "run"


def test_a_line_or_a_value_that_can_not_be_is_named(folder: Path) -> None:
    (journal,) = (folder / "journal").iterdir()
    sound = journal.read_text()
    journal.write_text(f"{sound}{'[' * 100_000}\n")
    reason = refused(folder)
    assert f"line 3 of {journal} is damaged" in reason and "recursion" in reason
    journal.write_text(sound)
    manifest = folder / "manifest.json"
    values = json.loads(manifest.read_text())
    case = {"model": "add.onnx", "runtime": "fake@gone"}
    for key, value, told in (
        ("rounds", 10**9, "rounds is 1000000000, not 1 to"),
        ("time_limit_s", float("inf"), "time_limit_s is inf"),
        ("cases", [case], "no interpreter of gone"),
    ):
        manifest.write_text(json.dumps({**values, key: value}))
        reseal_manifest(manifest)
        assert told in refused(folder)


@pytest.fixture(scope="module")
def of_two_rounds(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A finished run of one case, beside its graph."""
    folder = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(cache))
        patch.chdir(folder)
        graph = write_add_graph(folder / "add.onnx")
        command = ("--headless", "--models", str(graph), *FAKE, "--rounds", "2", "--out", "run")
        assert run(*command)[0] == 0
    return folder / "run"


@pytest.fixture
def ended_run(of_two_rounds: Path, work: Path) -> Path:
    return Path(shutil.copytree(of_two_rounds, work / "run"))
