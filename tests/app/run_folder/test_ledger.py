"""Lines of several hosts, read in any order: of the attempts at a case the last one stands."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from app.cases.round import RoundResult
from app.run_folder.journal import DiscardedRound, Line, Writer
from app.run_folder.ledger import Ledger
from tests.app.run_folder.runs import manifest_of

A, B, PARENT = "a.jsonl", "b.jsonl", "parent.jsonl"


def a_ledger() -> Ledger:
    ledger = Ledger(Path("run"), manifest_of())
    for source, host in ((A, "a"), (B, "b"), (PARENT, "here")):
        ledger.take(source, Writer(source, 1, host, "", {}))
    return ledger


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_in_whichever_order_journals_are_read_the_last_attempt_stands(
    order: tuple[int, ...],
) -> None:
    lines: list[tuple[str, Line]] = [
        (A, RoundResult("case", 0, "ok", attempt=1)),
        (PARENT, DiscardedRound("case", 0, "a was lost", attempt=1)),
        (B, RoundResult("case", 0, "ok", attempt=2)),
        (B, RoundResult("case", 1, "ok", attempt=2)),
    ]
    ledger = a_ledger()
    for place in order:
        ledger.take(*lines[place])
    run = ledger.run
    assert {number: r.attempt for number, r in run.rounds["case"].items()} == {0: 2, 1: 2}
    assert [writer.host for writer in run.writers["case"].values()] == ["b", "b"]
    assert ledger.recorded == 2


def test_what_a_lost_host_had_measured_counts_no_more_before_another_begins() -> None:
    ledger = a_ledger()
    ledger.take(A, RoundResult("case", 0, "ok"))
    ledger.take(PARENT, DiscardedRound("case", 0, "a was lost", attempt=1))
    assert ledger.run.rounds["case"] == {}
    assert ledger.run.writers["case"] == {}
    assert ledger.recorded == 0


def test_a_damaged_round_that_is_measured_again_stands() -> None:
    ledger = a_ledger()
    ledger.take(A, RoundResult("case", 0, "ok"))
    ledger.take(A, DiscardedRound("case", 0, "its file is gone"))
    ledger.take(A, RoundResult("case", 0, "ok", iterations=7))
    assert ledger.run.rounds["case"][0].iterations == 7


def test_what_was_cancelled_here_is_of_the_host_that_measures_it() -> None:
    ledger = a_ledger()
    ledger.take(PARENT, RoundResult("case", 0, "cancelled"))
    ledger.take(B, RoundResult("case", 0, "ok"))
    assert ledger.run.writers["case"][0].host == "b"
