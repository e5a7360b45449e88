"""A journal line is read as it was told, by this release and from a folder of schema 1."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.jobs import (
    SCOUT,
    AccuracyResult,
    ColdStart,
    Sensitivity,
    cold_start_subject_of,
    subject_of,
)
from app.cases.round import Check, RoundResult
from app.cases.scenario import Scenario
from app.cases.status import Status
from app.run_folder.journal import (
    KINDS,
    LONGEST_TEXT,
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
from app.run_folder.run import time_parts
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


@pytest.mark.parametrize("data", [None, [], "round", 7, {"kind": "round", "round": -1}])
def test_what_is_no_object_or_a_round_before_the_first_is_no_line(data: object) -> None:
    line = {**through_json(line_values(ROUND)), **data} if isinstance(data, dict) else data
    with pytest.raises(ValueError, match=r"not an object|round is -1, not a number from 0"):
        decode_line(line)


@pytest.mark.parametrize("name", ["/x", "..", "a/../b", "a/b/c", "a\0b"])
def test_a_file_beside_the_run_is_damage(name: str) -> None:
    for line in (ROUND, OPERATORS):
        field = "samples" if line is ROUND else "file"
        with pytest.raises(ValueError, match="outside the run folder"):
            decode_line({**through_json(line_values(line)), field: name})
    with pytest.raises(ValueError, match="outside"):
        decode_line({**through_json(line_values(ROUND)), "samples": "a/b"})


def test_texts_of_a_line_are_cut_to_what_is_read() -> None:
    whole, long = "x" * LONGEST_TEXT, "x" * (LONGEST_TEXT + 1)
    cut = f"{whole}…"
    short, texts = (diagnostic("checker_rejects_graph", t, objection=t) for t in (whole, long))
    names = replace(short, parameters={"names": (long,) * 101, "count": 7})
    line = replace(ROUND, reason=long, warnings=(short, texts, names))
    assert decode_line(line_values(line)) == replace(
        ROUND,
        reason=cut,
        warnings=(
            short,
            replace(texts, subject=cut, parameters={"objection": cut}),
            replace(short, parameters={"names": (cut,) * 100, "count": 7}),
        ),
    )
    long_enough = replace(ROUND, reason=whole)
    assert decode_line(line_values(long_enough)) == long_enough


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


def test_the_last_round_that_was_timed_says_who_measured_a_case() -> None:
    ledger = a_ledger()
    for number, (source, samples) in enumerate([(A, "samples/a"), (B, "samples/b"), (PARENT, "")]):
        status: Status = "ok" if samples else "cancelled"
        ledger.take(source, RoundResult(CASE.case_id, number, status, samples=samples))
    writer = ledger.run.writer_of(CASE)
    assert writer is not None and writer.host == "b"


def test_the_times_of_writers_are_added_and_the_longest_comes_first() -> None:
    first, second = {"start": {"": 0.5}}, {"engine_end": {"fake": 2.0}, "start": {"": 0.25}}
    times = time_parts(in_ledger(TimeSpent(first), TimeSpent(second)).run)
    assert times is not None and time_parts(a_ledger().run) is None
    assert [(part.activity, part.seconds) for part in times.parts] == [
        ("engine end", 2.0),
        ("start", 0.75),
    ]


def in_ledger(*lines: Line, source: str = A) -> Ledger:
    """A ledger that has taken these lines of one writer."""
    ledger = a_ledger()
    for line in lines:
        ledger.take(source, line)
    return ledger


def ended(status: Status = "ok", number: int = 0, **facts: Any) -> RoundResult:
    return RoundResult("case", number, status, **facts)


def void(number: int = 0, attempt: int = 0) -> DiscardedRound:
    return DiscardedRound("case", number, "why", attempt)


@pytest.mark.parametrize(
    ("lines", "iterations", "recorded", "has_failed"),
    [
        ([ended(iterations=7)], [7], 1, False),
        ([ended(iterations=7), ended(iterations=8)], [7], 1, False),  # the first stands
        ([ended("cancelled"), ended(iterations=8)], [8], 1, False),
        ([ended("crashed", transient=True), ended(iterations=8)], [8], 1, False),
        ([ended("crashed"), ended(iterations=8)], [0], 1, True),
        ([ended("crashed"), ended("crashed", number=1), void()], [0], 1, True),
        ([ended("crashed"), void()], [], 0, False),
        ([ended(iterations=7), void(), ended(iterations=8)], [8], 1, False),
        ([ended(iterations=7), void(attempt=1)], [], 0, False),
        ([ended(iterations=7, attempt=2), void(attempt=1)], [7], 1, False),
        ([void(attempt=2), ended(attempt=2)], [], 0, False),
        ([void(attempt=2), void(attempt=1), ended(attempt=2)], [], 0, False),
        ([void(attempt=1), ended(attempt=2, iterations=8)], [8], 1, False),
        ([void(number=1, attempt=1), ended(iterations=7)], [7], 1, False),
        ([void()], [], 0, False),
    ],
)
def test_which_round_stands(
    lines: list[Line], iterations: list[int], recorded: int, has_failed: bool
) -> None:
    ledger = in_ledger(*lines)
    rounds = ledger.run.rounds.get("case", {})
    assert [r.iterations for r in rounds.values()] == iterations
    assert (ledger.recorded, ledger.failed) == (recorded, {"case"} if has_failed else set())
    assert ledger.run.writers.get("case", {}).keys() == rounds.keys()


OPERATORS = Operators("case", file="operators/case.csv", runs=1)
LATER, TRANSIENT = replace(OPERATORS, attempt=2, runs=2), Operators("case", transient=True)


@pytest.mark.parametrize(
    ("lines", "runs"),
    [
        ([OPERATORS, replace(OPERATORS, runs=3)], [1]),
        ([OPERATORS, LATER], [2]),
        ([LATER, OPERATORS], [2]),
        ([TRANSIENT, OPERATORS], [1]),
        ([OPERATORS, void(attempt=1)], []),
        ([OPERATORS, void()], [1]),  # of damaged samples, which are none of theirs
        ([LATER, void(attempt=1)], [2]),
        ([void(attempt=1), OPERATORS], []),
        ([void(attempt=2), void(1, attempt=1), LATER], []),
        ([void(attempt=1), LATER], [2]),
    ],
)
def test_operators_stand_and_fall_with_their_attempt(lines: list[Line], runs: list[int]) -> None:
    assert [line.runs for line in in_ledger(*lines).run.operators.values()] == runs


def start(process: int, ms: float = 0.0) -> ColdStart:
    return ColdStart("case", process, {"process": ms}, transient=not ms)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([start(0, 5.0), start(0, 6.0)], {0: 5.0}),
        ([start(0), start(0, 6.0)], {0: 6.0}),
        ([start(SCOUT), start(0, 5.0)], {0: 5.0}),
        ([start(SCOUT, 4.0), start(0, 5.0)], {SCOUT: 4.0, 0: 5.0}),
        ([start(0, 5.0), start(SCOUT)], {0: 5.0, SCOUT: 0.0}),
        ([start(0), start(1, 5.0)], {0: 0.0, 1: 5.0}),
    ],
)
def test_a_process_that_circumstances_ended_is_started_again(
    lines: list[Line], expected: dict[int, float]
) -> None:
    starts = in_ledger(*lines).run.results[ColdStart]["case"]
    assert {process: line.total_ms for process, line in starts.items()} == expected


@pytest.mark.parametrize("is_transient", [False, True])
def test_a_value_is_measured_again_where_circumstances_failed_it(is_transient: bool) -> None:
    accuracies = [AccuracyResult("case", "digits", top1) for top1 in (0.5, 0.75)]
    factors = [Sensitivity("case", {"size": factor}) for factor in (2.0, 4.0)]
    lines = [replace(line, transient=is_transient) for line in (accuracies[0], factors[0])]
    run = in_ledger(*lines, accuracies[1], factors[1]).run
    assert (
        run.result_by_subject(AccuracyResult)["case"]
        == (accuracies if is_transient else lines)[is_transient]
    )
    assert run.result_by_subject(Sensitivity)["case"] == (factors[1] if is_transient else lines[1])


def test_a_case_has_the_results_of_its_subject(tmp_path: Path) -> None:
    """Whatever a case's later runs do, its cold start is the same; accuracy takes a model."""
    model = exported_add(tmp_path)
    case = Case(model.name, "fake", scenario=Scenario.parse("paced:20us"), axes=model.axes)
    cold_id = cold_start_subject_of(case).case_id
    lines = [ColdStart(cold_id, 1, {"process": 5.0}), ColdStart(cold_id, 0, {"process": 4.0})]
    effect = Sensitivity(case.case_id, {"size": 2.0})
    accuracy = AccuracyResult(subject_of(case, model).case_id, "digits", 0.5)
    run = in_ledger(*lines, effect, accuracy).run
    assert run.results_of(ColdStart, case) == (lines[1], lines[0])
    assert run.result_of(Sensitivity, case) == effect
    assert not run.results_of(ColdStart, replace(case, runtime="ort-cpu"))
    assert run.result_of(AccuracyResult, case) is None
    with_model = in_ledger(ModelExported(model.name, "fp32", model), accuracy).run
    assert with_model.result_of(AccuracyResult, case) == accuracy
    assert with_model.results_of(ColdStart, case) == ()


def test_a_line_tells_of_which_case_it_is() -> None:
    lines: list[Line] = [ended(), void(), OPERATORS, SearchCase(CASE), start(0, 5.0), TimeSpent({})]
    ledger = a_ledger()
    ids = [ledger.take(A, line) for line in lines]
    assert ids == ["case", "case", "case", CASE.case_id, "", ""]
    assert ledger.cases[CASE.case_id] == CASE and ledger.run.tried == (CASE,)
