"""A profile as a file that people and programs read."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from app.cases.errors import ResultsError
from app.cases.operators import OpProfile
from app.results.operators import profile_csv, read_profile
from runtimes.execution import OpTime


def test_a_profile_survives_its_file(tmp_path: Path) -> None:
    ops = (OpTime("a", "Gemm", 3.0, "k1"), OpTime('b "c", d', "Relu", 1.0, "=k2"))
    profile = OpProfile("case", "wall", 7, ops)
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "case.csv").write_bytes(profile_csv(profile))
    lines = list(csv.DictReader((tmp_path / "profiles" / "case.csv").read_text().splitlines()))
    assert [float(line["share"]) for line in lines] == [0.75, 0.25]
    line = {"case_id": "case", "clock": "wall", "runs": 7, "reason": "", "profile": "case.csv"}
    found = read_profile(tmp_path, line)
    assert [op.time_us for op in found.ops] == [3.0, 1.0]
    assert found.ops[1].node == 'b "c", d'


def test_a_profile_whose_file_is_gone_is_one_sentence(tmp_path: Path) -> None:
    line = {"case_id": "case", "clock": "wall", "runs": 7, "reason": "", "profile": "case.csv"}
    with pytest.raises(ResultsError, match=r"case\.csv"):
        read_profile(tmp_path, line)
