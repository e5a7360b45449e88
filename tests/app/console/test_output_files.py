"""Files that an option names: only those of the same format are replaced, and nothing else is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.__main__ import main
from app.run_folder.folder import RunFolder
from runtimes.fpga.__main__ import main as explain
from tests.app.run_folder.runs import CASE, manifest_of, record
from tests.app.sweep.sweeps import write_add_graph


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two runs of one case."""
    folder = tmp_path / "runs"
    for name in ("a", "b"):
        with RunFolder.create(folder / name, manifest_of((CASE,), rounds=3)) as run_folder:
            for number in range(3):
                record(run_folder, CASE, number, [10.0, 20.0, 30.0])
    return folder


def _compare(runs: Path) -> list[str]:
    return ["compare", str(runs / "a"), str(runs / "b")]


def _history(runs: Path) -> list[str]:
    return ["history", str(runs)]


def _report(runs: Path) -> list[str]:
    return ["report", str(runs / "a")]


def _measure(runs: Path) -> list[str]:
    graph = write_add_graph(runs.parent / "add.onnx")
    arguments = ["--headless", "--models", str(graph), "--runtimes", "fake", "--rounds", "2"]
    return [*arguments, "--idle-sweep", "20us..50us", "--out", str(runs.parent / "new")]


_OPTIONS: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "a comparison as JSON": (_compare, "--json"),
    "verdicts as JUnit": (_compare, "--junit"),
    "a history as JSON": (_history, "--json"),
    "a history as CSV": (_history, "--csv"),
    "a history as SVG": (_history, "--plot"),
    "a report": (_report, "-o"),
    "gaps as SVG": (_measure, "--plot"),
}
_OTHER_FILES = {
    "manifest.json": b'{\n "schema_version": 2,\n "run_id": "x"}',
    "results.json": b'{\n "format": "graphlap-results",\n "version": 1}',
    "results.csv": b"schema_version,graphlap_version,run_id\n",
    "notes.txt": b"precious\n",
    "drawing.svg": b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>',
    "junit.xml": b'<?xml version="1.0"?>\n<testsuites><testsuite name="pytest"/></testsuites>',
    "model.onnx": b"\x08\x07\x12\x07pytorch",
}


@pytest.mark.parametrize("kind", _OPTIONS)
@pytest.mark.parametrize("other", _OTHER_FILES)
def test_a_file_of_another_format_is_refused_before_anything_is_computed(
    kind: str, other: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, option = _OPTIONS[kind]
    path = runs.parent / other
    path.write_bytes(_OTHER_FILES[other])
    assert main([*command(runs), option, str(path)]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert option in output.err
    assert str(path) in output.err
    assert path.read_bytes() == _OTHER_FILES[other]
    assert not (runs.parent / "new").exists()


@pytest.mark.parametrize("kind", _OPTIONS)
def test_a_folder_or_a_runs_lock_is_refused(
    kind: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, option = _OPTIONS[kind]
    for path in (runs, runs / "a" / "lock"):
        assert main([*command(runs), option, str(path)]) == 2
        assert capsys.readouterr().out == ""
    assert (runs / "a" / "lock").read_bytes() == b""


@pytest.mark.parametrize("kind", [kind for kind in _OPTIONS if kind != "gaps as SVG"])
def test_a_file_of_its_own_is_replaced_and_a_link_is_not_followed(
    kind: str, runs: Path, tmp_path: Path
) -> None:
    command, option = _OPTIONS[kind]
    path, target = tmp_path / "made", tmp_path / "target"
    path.touch()
    for _ in range(2):
        assert main([*command(runs), option, str(path)]) == 0
        assert path.stat().st_size > 100
    path.rename(target)
    path.symlink_to(target)
    mtime_ns = target.stat().st_mtime_ns
    assert main([*command(runs), option, str(path)]) == 0
    assert target.stat().st_mtime_ns == mtime_ns
    assert not path.is_symlink()


def test_two_options_that_name_one_file_are_refused(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = tmp_path / "same"
    (tmp_path / "link").symlink_to(tmp_path)
    other = tmp_path / "link" / "same"
    assert main([*_compare(runs), "--json", str(same), "--junit", str(other)]) == 2
    assert main([*_history(runs), "--csv", str(same), "--plot", str(same)]) == 2
    assert capsys.readouterr().out == ""
    assert not same.exists()


def test_a_pipe_is_written_to(runs: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert main([*_compare(runs), "--json", str(pipe)]) == 0
    reader.join(10)
    assert b'"format": "graphlap-comparison"' in read[0]
    assert pipe.is_fifo()


def test_a_cards_picture_replaces_no_other_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, notes = write_add_graph(tmp_path / "add.onnx"), tmp_path / "notes.txt"
    notes.write_text("precious\n")
    for path in (notes, tmp_path):
        assert explain(["explain", str(graph), "--svg", str(path)]) == 1
        assert capsys.readouterr().err.count("\n") == 1
    assert notes.read_text() == "precious\n"
    for _ in range(2):
        assert explain(["explain", str(graph), "--svg", str(tmp_path / "new.svg")]) == 0
