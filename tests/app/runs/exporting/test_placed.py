"""Where exports are written: into the run folder and nowhere else, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.errors import DiskError
from app.console.export_formats import FORMATS, export
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, manifest_of, record
from tests.limits import file_size_limit

PRECIOUS = b"precious\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    with RunFolder.create(path, manifest_of((CASE,), rounds=1)) as folder:
        record(folder, CASE, 0, [10.0 + number / 7 for number in range(2000)])
    return path


def _export_run(path: Path, name: str) -> list[Path]:
    run = read_run(path)
    return export(run, [name])


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_replaces_a_link_and_never_follows_it(
    run: Path, tmp_path: Path, name: str
) -> None:
    files = _export_run(run, name)
    for number, file in enumerate(files):
        victim = tmp_path / f"victim{number}"
        victim.write_bytes(PRECIOUS)
        file.unlink()
        file.symlink_to(victim)
        file.with_name(f".{file.name}.{os.getpid()}").symlink_to(victim)
    assert main(["export", "-f", name, str(run)]) == 0
    for number, file in enumerate(files):
        assert (tmp_path / f"victim{number}").read_bytes() == PRECIOUS
        assert file.is_file()
        assert not file.is_symlink()
    assert not list(run.rglob(f".*.{os.getpid()}"))


@pytest.mark.parametrize(("name", "folder"), [("hdr", "hgrm"), ("trace", "trace")])
def test_a_folder_of_an_export_that_is_a_link_is_refused(
    run: Path, tmp_path: Path, name: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (run / folder).symlink_to(outside)
    assert main(["export", "-f", name, str(run)]) == 2
    assert str(run / folder) in capsys.readouterr().err
    assert not list(outside.iterdir())


@pytest.mark.parametrize("name", FORMATS)
def test_a_disk_that_fills_up_leaves_the_export_before_and_no_part_of_the_new_one(
    run: Path, name: str
) -> None:
    contents = {file: file.read_bytes() for file in _export_run(run, name)}
    files = set(run.rglob("*"))
    with file_size_limit(200), pytest.raises(DiskError):
        _export_run(run, name)
    assert set(run.rglob("*")) == files
    assert {file: file.read_bytes() for file in contents} == contents


def test_a_round_with_a_damaged_time_of_its_start_is_exported(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", manifest_of((CASE,), rounds=1)) as folder:
        record(folder, CASE, 0, [10.0], started_at_utc="yesterday")
    log, _ = _export_run(tmp_path / "run", "hdr")
    (line,) = [line for line in log.read_text().splitlines() if line.startswith("Tag=")]
    assert line.split(",")[1] == "0.000"
