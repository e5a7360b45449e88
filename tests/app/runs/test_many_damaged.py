"""A journal of very many damaged lines: a bounded number of findings, and the rest of the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.run_folder.files import LINE
from app.run_folder.folder import RunFolder
from app.run_folder.journal import FOLDER
from app.runs.reader import MAXIMUM_NAMED, JournalReader
from app.runs.verify import read_intact, verify
from tests.app.run_folder.runs import CASE, manifest_of, record

LINES = 5_000


@pytest.mark.parametrize(
    "harm",
    [
        lambda line: line.replace(b'"ok"', b'"no"'),
        lambda line: LINE.sealed(line.partition(b',"crc32"')[0].replace(b'"ok"', b"[]") + b"}"),
        lambda line: line.replace(b"crc32", b"crc33"),
        lambda line: line[: len(line) // 2],
    ],
    ids=["checksum", "value", "key", "cut"],
)
def test_findings_are_counted_and_the_first_are_named(
    tmp_path: Path, harm: Callable[[bytes], bytes]
) -> None:
    run = tmp_path / "run"
    with RunFolder.create(run, manifest_of()) as folder:
        record(folder, CASE, 0, [10.0, 20.0])
    (journal,) = (run / FOLDER).iterdir()
    (line,) = journal.read_bytes().splitlines()
    assert harm(line) != line
    journal.write_bytes(line + b"\n" + LINES * (harm(line) + b"\n"))
    report = verify(run)
    assert report.rounds == 1
    assert MAXIMUM_NAMED <= len(report.findings) <= 2 * MAXIMUM_NAMED + 1
    assert any(f"{LINES - MAXIMUM_NAMED:,} more" in finding.problem for finding in report.findings)
    assert list(read_intact(run).run.rounds) == [CASE.case_id]
    reader = JournalReader(run)
    reader.poll()
    assert len(reader.damaged) <= MAXIMUM_NAMED
