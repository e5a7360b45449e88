"""Operator times as a file that people and programs read."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.errors import ResultsError
from app.cases.operators import OperatorTimes
from app.results.operators import read_operators, write_operators
from runtimes.execution import OpTime
from tests.app.gui.runs import new_run
from tests.app.results.runs import CASE

OPS = (OpTime("a", "Gemm", 3.0, "k1"), OpTime('b "c", d', "Relu", 1.0, "=k2"))


def test_operator_times_survive_their_file(tmp_path: Path) -> None:
    times = OperatorTimes("case", "wall", 7, OPS)
    with new_run(tmp_path / "run", [CASE]) as folder:
        line = write_operators(folder, times)
    lines = list(csv.DictReader((tmp_path / "run" / line.file).read_text().splitlines()))
    assert [float(line["share"]) for line in lines] == [0.75, 0.25]
    found = read_operators(tmp_path / "run", line)
    assert found.ops[1].node == 'b "c", d'
    assert (found.runs, found.total_us) == (7, times.total_us)


def test_without_times_the_reason_stays(tmp_path: Path) -> None:
    with new_run(tmp_path / "run", [CASE]) as folder:
        line = write_operators(folder, OperatorTimes("case", reason="it does not tell"))
    assert read_operators(tmp_path / "run", line).reason == "it does not tell"


def test_a_file_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    with new_run(tmp_path / "run", [CASE]) as folder:
        line = write_operators(folder, OperatorTimes("case", "wall", 7, OPS))
    with pytest.raises(ResultsError, match=r"gone\.csv"):
        read_operators(tmp_path / "run", replace(line, file="operators/gone.csv"))
