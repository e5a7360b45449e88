"""A run folder must survive kills and full disks, and never be shared or overwritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import DiskError, ResultsError
from app.run_folder.files import DOCUMENT
from app.run_folder.folder import (
    RunFolder,
    is_being_written,
    lock_folder,
    reject_occupied,
    telemetry_name,
)
from app.run_folder.journal import Journal
from app.run_folder.manifest import (
    LARGEST_SIZE,
    MANIFEST,
    MAXIMUM_ROUNDS,
    SCHEMA_VERSION,
    DamagedManifest,
    environments,
    read_manifest,
)
from app.runs.reader import read_run
from exporters.codec import to_json
from tests.app.run_folder.resealed import reseal_manifest
from tests.app.run_folder.runs import CASE, ENVIRONMENT, PLAN, manifest_of, record

CASE_OF = to_json(CASE)


def sized(batch: int) -> dict[str, Any]:
    return CASE_OF | {"axes": {"batch": batch}}


def started(path: Path) -> RunFolder:
    folder = RunFolder.create(path, manifest_of())
    folder.begin(ENVIRONMENT)
    return folder


def test_an_empty_folder_may_be_used_and_its_manifest_brings_the_sweep_back(tmp_path: Path) -> None:
    reject_occupied(tmp_path)
    with started(tmp_path) as folder:
        assert [*folder.journal_lines.values()] == [1]
    manifest = read_manifest(tmp_path)
    assert manifest.started_in == str(Path.cwd())
    RunFolder.create(tmp_path / "again", manifest).close()
    assert read_manifest(tmp_path / "again") == manifest


def test_a_folder_that_is_closed_holds_no_file_and_is_not_made_again(tmp_path: Path) -> None:
    open_files = len([*Path("/proc/self/fd").iterdir()])
    with started(tmp_path / "run") as folder:
        (tmp_path / "run" / "telemetry").mkdir()
        name = folder.path / "telemetry" / telemetry_name(CASE.case_id, 0)
        name.touch()
        folder.drop_readings(CASE.case_id, 0)
        assert not name.exists()
        folder.drop_readings(CASE.case_id, 0)
    assert len([*Path("/proc/self/fd").iterdir()]) == open_files
    (journal,) = (tmp_path / "run" / "journal").iterdir()
    assert os.uname().nodename in journal.name
    whole = journal.read_bytes()
    with pytest.raises(ResultsError):
        RunFolder.create(tmp_path / "run", manifest_of())
    assert journal.read_bytes() == whole


def test_rounds_of_several_writers_are_merged_and_a_torn_last_line_loses_only_itself(
    tmp_path: Path,
) -> None:
    with started(tmp_path / "run") as folder:
        for number in (0, 1):
            record(folder, CASE, number, [10.0] * 8)
    (journal,) = (tmp_path / "run" / "journal").iterdir()
    whole = journal.read_bytes()
    for cut in (20, 1):
        journal.write_bytes(whole[:-cut])
        assert [result.round for result in read_run(tmp_path / "run").rounds_of(CASE)] == [0]
    with RunFolder.reopen(tmp_path / "run") as folder:
        folder.begin(ENVIRONMENT)
        record(folder, CASE, 1, [10.0] * 8)
    run = read_run(tmp_path / "run")
    assert [result.round for result in run.rounds_of(CASE)] == [0, 1]
    assert run.host_of(CASE) == "testhost"
    assert len(list((tmp_path / "run" / "journal").iterdir())) == 2


POLLS = """
import sys
from pathlib import Path
from app.run_folder.folder import is_being_written
print("looking", flush=True)
while True:
    is_being_written(Path(sys.argv[1]))
"""
OPENS = """
import sys
from pathlib import Path
from app.run_folder.folder import RunFolder
RunFolder.reopen(Path(sys.argv[1]))
"""


def test_two_processes_do_not_write_one_run_and_who_only_looks_keeps_no_writer_out(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    with started(run):
        assert is_being_written(run)
        command = [sys.executable, "-c", OPENS, str(run)]
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "is being written by another process" in second.stderr
    assert not is_being_written(run)
    command = [sys.executable, "-c", POLLS, str(run)]
    watchers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for watcher in watchers:
            assert watcher.stdout
            assert watcher.stdout.readline() == b"looking\n"
        for _ in range(300):
            os.close(lock_folder(run))
    finally:
        for watcher in watchers:
            watcher.kill()
            watcher.communicate()


@pytest.mark.parametrize("kind", ["run", "occupied", "file"])
def test_a_place_that_is_taken_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "out"
    if kind == "run":
        started(path).close()
    elif kind == "occupied":
        path.mkdir()
        (path / "thesis.tex").touch()
    else:
        path.touch()
    paths = sorted(tmp_path.rglob("*"))
    with pytest.raises(ResultsError, match=f"{path} (belongs|is a file|is not empty)"):
        reject_occupied(path)
    with pytest.raises(ResultsError):
        RunFolder.create(path, manifest_of([CASE], 1))
    assert sorted(tmp_path.rglob("*")) == paths


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no run folder"),
        ("{", "can't be read"),
        ("[]", "can't be read"),
        (f'{{"schema_version": {SCHEMA_VERSION}\n}}\n', "can't be read"),
        ('{"schema_version": 99, "graphlap_version": "7.0"\n}\n', "schema 99.*7.0"),
    ],
)
def test_a_manifest_that_is_not_ours_is_one_sentence(
    tmp_path: Path, content: str | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(DOCUMENT.sealed(content.encode()))
    with pytest.raises(ResultsError, match=sentence):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ({"rounds": 1}, {"rounds": 0}),
        ({"rounds": MAXIMUM_ROUNDS}, {"rounds": MAXIMUM_ROUNDS + 1}),
        ({"spread_s": 0.0}, {"spread_s": -1e-9}),
        ({"contended_spread_s": 0.0}, {"contended_spread_s": -1e-9}),
        ({"time_limit_s": 1e-9}, {"time_limit_s": 0.0}),
        ({"cases": [CASE_OF | {"threads": 0}]}, {"cases": [CASE_OF | {"threads": -1}]}),
        ({"cases": [sized(0)]}, {"cases": [sized(-1)]}),
        ({"cases": [sized(LARGEST_SIZE)]}, {"cases": [sized(LARGEST_SIZE + 1)]}),
        ({"schema_version": SCHEMA_VERSION}, {"schema_version": float(SCHEMA_VERSION)}),
        ({"plan": PLAN.model_dump(mode="json")}, {"plan": {"sweeps": []}}),
    ],
)
def test_a_manifest_has_values_within_bounds(
    tmp_path: Path, values: dict[str, Any], refused: dict[str, Any]
) -> None:
    started(tmp_path / "run").close()
    path = tmp_path / "run" / MANIFEST
    text = path.read_bytes()
    for changes in (values, refused):
        path.write_text(json.dumps({**json.loads(text), **changes}))
        with pytest.raises(DamagedManifest):
            read_manifest(path.parent)
        reseal_manifest(path)
        if changes is refused:
            with pytest.raises(DamagedManifest):
                read_manifest(path.parent)
        else:
            assert read_manifest(path.parent).schema_version == SCHEMA_VERSION


@pytest.mark.parametrize(
    ("recorded", "hosts", "expected"),
    [
        ({}, [], {"testhost"}),
        ({"a": {}, "b": {}}, ["b", "c"], {"b"}),
        ({"a": {}, "b": {}}, ["c"], {"a", "b"}),
    ],
)
def test_a_run_has_the_environments_of_hosts_that_measured(
    recorded: dict[str, dict[str, Any]], hosts: list[str], expected: set[str]
) -> None:
    rows = [{"host": host} for host in hosts]
    assert environments(manifest_of(), recorded, rows).keys() == expected
    assert not environments(replace(manifest_of(), environment={}), {}, rows)


def test_samples_that_are_not_all_there_and_a_full_disk_are_told(tmp_path: Path) -> None:
    with started(tmp_path / "run") as folder:
        result = record(folder, CASE, 0, [10.0] * 8)
        path = folder.samples / result.samples
        os.truncate(path, path.stat().st_size - 32)
        with pytest.raises(DiskError, match="does not hold all"):
            folder.record(result)
    journal = Journal(Path("/dev/null"))
    journal._file = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OSError, match="No space left"):
        journal.append({"kind": "round"})
    journal.close()
