"""A journal line is read as it was told, by this release and from a folder of schema 1."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.jobs import AccuracyResult, ColdStart, Sensitivity
from app.cases.round import Check, RoundResult
from app.cases.scenario import Scenario
from app.run_folder.journal import (
    KINDS,
    DiscardedRound,
    Line,
    ModelExported,
    Operators,
    SearchCase,
    TimeSpent,
    Writer,
    decode_line,
    line_values,
)
from app.run_folder.ledger import Ledger
from exporters.diagnostics import diagnostic
from tests.app.run_folder.runs import manifest_of
from tests.app.sweep.sweeps import exported_add

CHECK = Check("torch", 0.5, 0.25, 0.9, 1e-4, False, "y", lane=2)
ROUND = RoundResult("case", 0, "wrong_output", check=CHECK, facts={"cycles": 7, "io_us": 1.5})
CASE = Case("net.onnx", "ort-cpu", axes={"batch": 2}, scenario=Scenario.parse("paced:20us"))


def lines_of_every_kind(folder: Path) -> list[Line]:
    return [
        Writer("w", 7, "host", "0.1.0", {"cpu": "one", "load_1min": 0.5}, "run", "0"),
        ModelExported("add", "fp32", exported_add(folder)),
        ROUND,
        DiscardedRound("case", 1, "its host was lost"),
        DiscardedRound(
            "case", 1, "", diagnostic=diagnostic("samples_cut", round=2, held=1, expected=2)
        ),
        AccuracyResult("subject", "digits", 0.9, 360, 64),
        SearchCase(CASE),
        Operators("case", "device", 9, file="operators/case.csv", total_us=4.0),
        ColdStart("case", 2, {"process": 300.5, "compile": 12.25}, kept_share=0.0),
        Sensitivity("case", {"size": 4.5, "points": None}, 1),
        TimeSpent({"start": {"": 0.5}, "measurement": {"ort-cpu": 2.25, "fake": 1.0}}),
    ]


def through_json(line: dict[str, Any]) -> Any:
    return json.loads(json.dumps(line))


def test_every_kind_of_line_survives_the_journal(tmp_path: Path) -> None:
    lines = lines_of_every_kind(tmp_path)
    assert {type(line) for line in lines} == set(KINDS.values())
    for line in lines:
        assert decode_line(through_json(line_values(line))) == line


def test_a_round_before_the_first_is_damage() -> None:
    with pytest.raises(ValueError, match="round is -1, not a number from 0"):
        decode_line({**through_json(line_values(ROUND)), "round": -1})


@pytest.mark.parametrize("data", [None, [], "round", 7])
def test_what_is_no_object_is_no_line(data: object) -> None:
    with pytest.raises(ValueError, match="not an object"):
        decode_line(data)


A, B, PARENT = "a.jsonl", "b.jsonl", "parent.jsonl"


def a_ledger() -> Ledger:
    ledger = Ledger(Path("run"), manifest_of())
    for source, host in ((A, "a"), (B, "b"), (PARENT, "here")):
        ledger.take(source, Writer(source, 1, host, "", {}, "run", ""))
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
