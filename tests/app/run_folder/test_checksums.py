"""A flipped character of a journal or a manifest is damage, as is one without a checksum."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.errors import ResultsError
from app.run_folder.folder import RunFolder
from app.runs.reader import read_environments, read_run
from app.runs.verify import verify
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of, record


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checksums") / "run"
    with RunFolder.create(path, manifest_of()) as folder:
        folder.begin(ENVIRONMENT)
        record(folder, CASE, 0, [10.0, 20.0, 30.0])
        record(folder, OTHER, 0, status="crashed", reason="exit code 3")
        write_tables(folder, Rows().of(read_run(path)))
    return path


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def _flip_characters(text: bytes, places: int) -> Iterator[bytes]:
    """The text with one character changed: at its end, where the checksum stands, everywhere."""
    chance = random.Random(5)
    last = range(len(text) - 24, len(text) - 1)
    for place in (*last, *chance.sample(range(len(text) - 24), places)):
        byte = text[place]
        if byte != ord("\n"):
            other = ord("7") if byte != ord("7") else ord("8")
            yield text[:place] + bytes([other]) + text[place + 1 :]


def test_any_flipped_character_of_a_journal_is_damage(run: Path) -> None:
    (journal,) = (run / "journal").iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert not verify(run).findings
    for number, line in enumerate(lines):
        for damaged_bytes in _flip_characters(line, 12):
            journal.write_bytes(b"".join([*lines[:number], damaged_bytes, *lines[number + 1 :]]))
            assert verify(run).damaged, damaged_bytes


def test_any_flipped_character_of_a_manifest_is_damage(run: Path) -> None:
    manifest = run / "manifest.json"
    whole = manifest.read_bytes()
    for damaged_bytes in _flip_characters(whole, 25):
        manifest.write_bytes(damaged_bytes)
        assert main(["verify", str(run)]) == 1, damaged_bytes


def test_a_reader_takes_a_changed_line_or_one_without_a_checksum_for_damaged(run: Path) -> None:
    (journal,) = (run / "journal").iterdir()
    for path in (journal, run / "manifest.json"):
        content = path.read_bytes()
        path.write_bytes(re.sub(rb',\s*"crc32": ?"[0-9a-f]{8}"', b"", content))
        assert verify(run).damaged, path
        with pytest.raises(ResultsError, match="checksum"):
            read_run(run)
        path.write_bytes(content)
    assert not verify(run).findings
    journal.write_text(journal.read_text().replace('"clock":"wall"', '"clock":"device"', 1))
    with pytest.raises(ResultsError, match="line 2 of"):
        read_run(run)
    assert main(["export", "-f", "json", str(run)]) == 1
    journal.write_text(journal.read_text().replace('"load_1min":0', '"load_1min":9', 1))
    assert not read_environments(run), "a damaged first line says nothing of the host"


def test_a_journal_of_another_run_is_left_out_and_named(run: Path, tmp_path: Path) -> None:
    """It may hold rounds of the very same cases."""
    with RunFolder.create(tmp_path / "other", manifest_of()) as folder:
        folder.begin(ENVIRONMENT)
        record(folder, CASE, 1, [90.0] * 3)
    (foreign,) = (tmp_path / "other" / "journal").iterdir()
    shutil.copy(foreign, run / "journal")
    shutil.copytree(tmp_path / "other" / "samples", run / "samples", dirs_exist_ok=True)
    (finding,) = (issue for issue in verify(run).findings if not issue.harmless)
    assert finding.file == f"journal/{foreign.name}"
    with pytest.raises(ResultsError, match="belongs to another run"):
        read_run(run)
