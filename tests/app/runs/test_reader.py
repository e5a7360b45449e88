"""Every kind of journal line is known to readers and followers; many damaged ones are bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.jobs import (
    AccuracyResult,
    ColdStart,
    Operator,
    OperatorTimes,
    Sensitivity,
    cold_start_subject_of,
)
from app.run_folder.files import LINE
from app.run_folder.folder import RunFolder
from app.run_folder.journal import FOLDER, DiscardedRound, ModelExported, SearchCase, TimeSpent
from app.run_folder.operators import write_operators
from app.runs.following.reader import RunReader
from app.runs.reader import MAXIMUM_NAMED, JournalReader, read_run
from app.runs.verify import read_intact, verify
from tests.app.gui.runs import new_run, record_round, records
from tests.app.run_folder.resealed import reseal_journal
from tests.app.run_folder.runs import CASE, manifest_of, record
from tests.app.sweep.sweeps import exported_add

FIRST = Case("mlp", "fake", axes={"batch": 1})


TRIED = Case("mlp", "fake", axes={"batch": 2})


def write_all(folder: RunFolder, tmp_path: Path) -> None:
    """One line of each kind, after the writer's own."""
    folder.record(ModelExported("mlp", "fp32", exported_add(tmp_path)))
    record_round(folder, FIRST, 0, records([50.0] * 400))
    folder.record(SearchCase(TRIED))
    record_round(folder, TRIED, 0, records([]), status="out_of_memory")
    folder.record(DiscardedRound(TRIED.case_id, 1, "its host was lost", attempt=1))
    folder.record(AccuracyResult("subject", "digits", 0.9, 360, 64))
    ops = (Operator("/a", "Gemm", 3.0, "gemm"), Operator("/b", "Relu", 1.0, "relu"))
    folder.record(ColdStart(cold_start_subject_of(FIRST).case_id, 0, {"process": 300.0}))
    folder.record(Sensitivity(FIRST.case_id, {"size": 4.5}))
    folder.record(TimeSpent({"measurement": {"fake": 2.5}}))
    folder.record(write_operators(folder, OperatorTimes(FIRST.case_id, "wall", 10, ops)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with new_run(tmp_path / "run", [FIRST]) as folder:
        write_all(folder, tmp_path)
    return tmp_path / "run"


def test_who_reads_on_after_each_line_knows_what_a_reader_of_the_whole_run_knows(
    tmp_path: Path,
) -> None:
    with new_run(tmp_path / "run", [FIRST]) as folder:
        follower = JournalReader(tmp_path / "run")
        (journal,) = (tmp_path / "run" / "journal").iterdir()
        write_all(folder, tmp_path)
        lines = journal.read_bytes().splitlines(keepends=True)
        for count in range(len(lines)):
            journal.write_bytes(b"".join(lines[:count]) + lines[count][:10])
            follower.poll()
        journal.write_bytes(b"".join(lines))
        assert follower.poll() == {FIRST.case_id}, "the last line tells the operators of a case"
    whole = read_run(tmp_path / "run")
    for field in fields(whole):
        if field.name in ("damaged", "sound", "store", "folders", "parts", "notes"):  # not of lines
            continue
        value = getattr(whole, field.name)
        assert getattr(follower.ledger.run, field.name) == value, field.name
        assert value, f"the run has no {field.name} to compare"


def test_a_host_is_that_of_the_writer_and_what_a_later_version_adds_is_passed_over(
    run: Path,
) -> None:
    with closing(RunReader(run)) as reader:
        state = reader.poll()
    assert state is not None
    tries = [(series.row["batch_size"], series.status, series.label) for series in state.series]
    assert tries == [
        (1, "ok", "mlp · fake · batch 1"),
        (2, "out_of_memory", "mlp · fake · batch 2"),
    ]
    journal = run / "journal"
    (first,) = journal.iterdir()
    text = first.read_text().replace('"kind":"round",', '"kind":"round","mood":"good",')
    first.write_text(text + '{"kind":"weather","sky":"clear"}\n')
    reseal_journal(first)
    assert read_run(run).rounds[FIRST.case_id][0].iterations == 400
    lines = first.read_text().splitlines(keepends=True)
    (journal / "a.jsonl").write_text(lines[0].replace(json.loads(lines[0])["host"], "elsewhere"))
    reseal_journal(journal / "a.jsonl")
    (journal / "b.jsonl").write_text("".join(lines[1:]))
    first.unlink()
    run_read = read_run(run)
    assert not any(run_read.writers.values()), "nobody said who wrote those rounds"


LINES = 5_000


@pytest.mark.parametrize(
    "harm",
    [
        lambda line: line.replace(b'"ok"', b'"no"'),
        lambda line: LINE.sealed(line.partition(b',"crc32"')[0].replace(b'"ok"', b"[]") + b"}"),
        lambda line: line[: len(line) // 2],
    ],
    ids=["checksum", "value", "cut"],
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
