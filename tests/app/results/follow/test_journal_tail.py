"""Every kind of journal line reaches the follower as it reaches whoever reads the whole run."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from app.cases.accuracy import AccuracyResult
from app.cases.case import Case
from app.cases.operators import OpProfile
from app.results.follow.journal_tail import JournalTail
from app.results.follow.reader import RunReader
from app.results.reader import read_run
from runtimes.execution import OpTime
from tests.app.gui.runs import new_run, record_round, records

FIRST = Case("mlp", "fake", axes={"batch": 1})
TRIED = Case("mlp", "fake", axes={"batch": 2})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with new_run(tmp_path / "run", [FIRST]) as folder:
        record_round(folder, FIRST, 0, records([50.0] * 400))
        folder.record_case(TRIED)
        record_round(folder, TRIED, 0, records([]), status="out_of_memory")
        folder.record_accuracy(AccuracyResult("subject", "digits", 0.9, 360, 64))
        ops = (OpTime("/a", "Gemm", 3.0, "gemm"), OpTime("/b", "Relu", 1.0, "relu"))
        folder.record_profile(OpProfile(FIRST.case_id, "wall", 10, ops))
    return tmp_path / "run"


def test_a_follower_knows_what_a_reader_of_the_whole_run_knows(run: Path) -> None:
    tail = JournalTail(run)
    tail.poll()
    whole = read_run(run)
    for field in fields(whole):
        assert getattr(tail.run, field.name) == getattr(whole, field.name), field.name


def test_the_tries_of_a_search_are_rows_too(run: Path) -> None:
    reader = RunReader(run)
    state = reader.poll()
    reader.close()
    assert [(one.row["batch_size"], one.status) for one in state.series] == [
        (1, "ok"),
        (2, "out_of_memory"),
    ]
    assert [one.label for one in state.series] == ["mlp · fake · batch 1", "mlp · fake · batch 2"]
