"""Streams, output files and exports: what is written, how wide, and what is refused."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.__main__ import main
from app.present.console.streams import ResilientStream
from app.run_folder.folder import RunFolder
from tests.app.cli.headless.batch import run as batch
from tests.app.present.console.telling import told
from tests.app.run_folder.resealed import reseal_manifest
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, damage_line, manifest_of, record
from tests.app.sweep.sweeps import write_add_graph


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        record(folder, CASE, 0, [10.0, 20.0, 30.0])
        record(folder, OTHER, 0, status="crashed", reason="exit code 3")
    return tmp_path / "run"


def test_of_a_run_with_a_damaged_line_the_rest_is_exported_and_the_line_told(
    tmp_path: Path,
) -> None:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(2):
            for case in (CASE, OTHER):
                record(folder, case, number, [10.0, 20.0, 30.0])
    journal = damage_line(tmp_path / "run", 3)
    code, out = told("export", "-f", "csv,json,hdr,trace", tmp_path / "run")
    *wrote, damage_report = out.splitlines()
    assert code == 1
    assert all(line.startswith("wrote ") for line in wrote)
    assert f"damaged and left out: journal/{journal.name} line 3 is damaged" in damage_report
    assert "remove that line" in damage_report
    rows = json.loads((tmp_path / "run" / "results.json").read_text())["rows"]
    assert [row["rounds"] for row in rows] == [2, 1]


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_what_json_has_no_form_for_is_null_wherever_it_stands(run: Path, number: str) -> None:
    manifest = run / "manifest.json"
    text = manifest.read_text()
    assert '"load_1min": 0.0' in text
    manifest.write_text(text.replace('"load_1min": 0.0', f'"load_1min": [{{"now": {number}}}]'))
    reseal_manifest(manifest)
    assert main(["export", "-f", "json", str(run)]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    whole = json.loads((run / "results.json").read_text(), parse_constant=refuse)
    assert whole["environment"]["load_1min"] == [{"now": None}]


@pytest.mark.parametrize(
    ("words", "name", "said"),
    [
        ("cvs", "run", "did you mean 'csv'"),
        (",", "run", "names no format"),
        ("json", "", "is no run folder"),
    ],
)
def test_a_format_that_is_none_and_what_is_no_run_are_refused(
    words: str, name: str, said: str, run: Path
) -> None:
    code, _, errors = batch("export", "-f", words, str(run.parent / name))
    assert code == 2 and said in errors


def test_a_format_whose_package_is_missing_names_the_extra(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hdrh", None)
    code, _, errors = batch("export", "-f", "hdr", str(run))
    assert code == 2 and "pip install 'graphlap[data]'" in errors
    assert not (run / "latency.hlog").exists()


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
    "a report": (lambda runs: ["report", str(runs / "a")], "-o"),
    "gaps as SVG": (_measure, "--plot"),
}
_OTHER_FILES = {
    "manifest.json": b'{\n "schema_version": 2,\n "run_id": "x"}',
    "notes.txt": b"precious\n",
    "drawing.svg": b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>',
    "junit.xml": b'<?xml version="1.0"?>\n<testsuites><testsuite name="pytest"/></testsuites>',
}


@pytest.mark.parametrize("kind", _OPTIONS)
@pytest.mark.parametrize("other", _OTHER_FILES)
def test_a_file_of_another_format_is_refused_before_anything_is_computed(
    kind: str, other: str, runs: Path
) -> None:
    command, option = _OPTIONS[kind]
    path = runs.parent / other
    path.write_bytes(_OTHER_FILES[other])
    code, out, errors = batch(*command(runs), option, str(path))
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert option in errors
    assert str(path) in errors
    assert path.read_bytes() == _OTHER_FILES[other]
    assert not (runs.parent / "new").exists()


@pytest.mark.parametrize("kind", _OPTIONS)
def test_a_folder_or_a_runs_lock_is_refused(kind: str, runs: Path) -> None:
    command, option = _OPTIONS[kind]
    for path in (runs, runs / "a" / "lock"):
        assert told(*command(runs), option, path) == (2, "")
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


def test_two_options_that_name_one_file_are_refused(runs: Path, tmp_path: Path) -> None:
    same = tmp_path / "same"
    (tmp_path / "link").symlink_to(tmp_path)
    other = tmp_path / "link" / "same"
    assert told(*_compare(runs), "--json", same, "--junit", other) == (2, "")
    assert told(*_history(runs), "--csv", same, "--plot", same) == (2, "")
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


@pytest.mark.parametrize(
    ("encoding", "text", "written"),
    [
        (
            "ascii",
            "p50 1.3 µs ±75% · ─── “a” … ≤ \u4e2d",
            'p50 1.3 us +-75% - --- "a" ... <= \\u4e2d',
        ),
        ("latin-1", "1.3 µs ±75%", "1.3 µs ±75%"),
    ],
)
def test_a_stream_without_our_characters_gets_them_spelt_in_ascii(
    encoding: str, text: str, written: str
) -> None:
    raw = io.BytesIO()
    stream = ResilientStream(io.TextIOWrapper(raw, encoding=encoding))
    stream.write(text)
    stream.flush()
    assert raw.getvalue().decode(encoding) == written
