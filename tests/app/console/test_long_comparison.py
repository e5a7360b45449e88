"""A comparison of many cases: at most 60 lines on a terminal, and all of it in JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.benchmarks.stored_runs import stored_run
from tests.golden.screens import printed

CASES = 60
MOST_LINES = 60


def test_a_long_comparison_is_shortened_and_json_has_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    runs = [stored_run(tmp_path / name, CASES, runs=120, seed=n) for n, name in enumerate("ab")]
    first, second = map(str, runs)
    output = printed("compare", first, second, "--json", str(tmp_path / "c.json"), columns=80)
    lines = output.splitlines()
    assert len(lines) <= MOST_LINES
    document = json.loads((tmp_path / "c.json").read_text())
    assert len(document["cases"]) == CASES
    verdicts = sum(document["verdict_counts"].values())
    row_count = sum(bool(re.search(r"\d+\.\d{3}x", line)) for line in lines)
    (left_out,) = re.findall(r"([\d,]+) more verdicts", output)
    assert row_count + int(left_out.replace(",", "")) == verdicts
    csv_text = printed("compare", first, second, "-f", "csv", columns=80)
    assert sum(",p50," in line for line in csv_text.splitlines()) == CASES


def test_a_gate_over_many_cases_is_as_short(tmp_path: Path) -> None:
    runs = [stored_run(tmp_path / name, CASES, runs=120, seed=n) for n, name in enumerate("ab")]
    output = printed("compare", *map(str, runs), "--fail-on", "undecided", columns=80)
    assert "--fail-on undecided can't pass" in output
    assert len(output.splitlines()) <= MOST_LINES
