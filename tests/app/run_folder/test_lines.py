"""A journal line is read as it was told, by this release and from a folder of schema 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.jobs import AccuracyResult, ColdStart
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
from exporters.diagnostics.catalogue import diagnostic
from tests.app.sweep.sweeps import exported_add

CHECK = Check("torch", 0.5, 0.25, 0.9, 1e-4, False, "y", lane=2)
ROUND = RoundResult("case", 0, "wrong_output", check=CHECK, facts={"cycles": 7, "io_us": 1.5})
CASE = Case("net.onnx", "ort-cpu", axes={"batch": 2}, scenario=Scenario.parse("paced:20us"))


def lines_of_every_kind(folder: Path) -> list[Line]:
    return [
        Writer("w", 7, "host", "0.1.0", {"cpu": "one", "load_1min": 0.5}),
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
