"""What a comparison prints and keeps, and the exit code that a job fails by."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from app.__main__ import main
from app.run_folder.folder import RunFolder
from tests.app.present.console.telling import told
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, damage_line, manifest_of, record
from tests.benchmarks.stored_runs import stored_run
from tests.golden.screens import printed


def run_at(path: Path, factor: float = 1.0, seed: int = 1, **environment: str) -> Path:
    """A run of six quiet rounds of CASE, and of OTHER at twice the time."""
    rng = np.random.default_rng(seed)
    manifest = replace(manifest_of((CASE, OTHER)), environment={**ENVIRONMENT, **environment})
    with RunFolder.create(path, manifest) as folder:
        folder.begin(manifest.environment)
        for number in range(6):
            base_us = 100.0 * np.exp(0.003 * rng.standard_normal())
            latency_us = base_us * np.exp(0.02 * rng.standard_normal(2000))
            record(folder, CASE, number, (latency_us * factor).round(3).tolist())
            record(folder, OTHER, number, (latency_us * 2).round(3).tolist())
    return path


def test_a_slower_case_fails_the_job_only_where_that_was_asked(tmp_path: Path) -> None:
    first, second = run_at(tmp_path / "a"), run_at(tmp_path / "b", factor=1.4, seed=2)
    code, out = told("compare", first, second)
    assert code == 0
    assert "slower" in out
    assert told("compare", first, second, "--fail-on", "slower")[0] == 3
    assert told("compare", second, first, "--fail-on", "slower")[0] == 0, "it is faster"
    wide = told("compare", first, second, "--fail-on", "slower", "--threshold", "30%")
    assert wide[0] == 0


def test_what_is_damaged_of_either_is_told_and_the_rest_compared(tmp_path: Path) -> None:
    first, second = run_at(tmp_path / "a"), run_at(tmp_path / "b", seed=2)
    journal = damage_line(second, 4)
    damage_text = f"{second}: damaged and left out: journal/{journal.name} line 4 is damaged"
    output_options = ("--json", tmp_path / "out.json", "--junit", tmp_path / "out.xml")
    code, out = told("compare", first, second, "--fail-on", "slower", *output_options)
    assert code == 1
    assert "2 cases: 2 compared; " in out and "".join(damage_text.split()) in "".join(out.split())
    (finding,) = json.loads((tmp_path / "out.json").read_text())["damaged"]
    assert damage_text in finding
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("errors"), suite.get("tests")) == ("1", str(len(suite)))
    (error,) = suite.iter("error")
    assert damage_text in error.get("message", "")
    code, out = told("compare", second, first, "-f", "markdown")
    assert code == 1 and "damaged and left out" in out, "without a gate too"


def test_what_is_no_longer_measured_fails(tmp_path: Path) -> None:
    first = run_at(tmp_path / "a")
    with RunFolder.create(tmp_path / "b", manifest_of((CASE, OTHER))) as folder:
        folder.begin(ENVIRONMENT)
        record(folder, CASE, 0, [], status="crashed", reason="it fell over")
        for number in range(6):
            record(folder, OTHER, number, [200.0] * 2000)
    code, out = told("compare", first, tmp_path / "b")
    assert code == 1
    assert "no longer measured" in out and "crashed: it fell over" in out


def test_a_long_comparison_is_shortened_and_json_has_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    most_cases = most_lines = 60
    for number, name in enumerate("ab"):
        stored_run(tmp_path / name, most_cases, runs=120, seed=number)
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    output = printed("compare", first, second, "--json", str(tmp_path / "c.json"), columns=80)
    lines = output.splitlines()
    assert len(lines) <= most_lines
    document = json.loads((tmp_path / "c.json").read_text())
    assert len(document["cases"]) == most_cases
    verdicts = sum(document["verdict_counts"].values())
    row_count = sum(bool(re.search(r"\d+\.\d{3}x", line)) for line in lines)
    (left_out,) = re.findall(r"([\d,]+) more verdicts", output)
    assert row_count + int(left_out.replace(",", "")) == verdicts
    csv_text = printed("compare", first, second, "-f", "csv", columns=80)
    assert sum(",p50," in line for line in csv_text.splitlines()) == most_cases
    gate = printed("compare", first, second, "--fail-on", "undecided", columns=80)
    assert "--fail-on undecided can't pass" in gate and len(gate.splitlines()) <= most_lines


CALLS = ({"call_path": "a call, timed in Python"}, {"call_path": "a call, timed in C"})
RELEASES = ({"runtime_version": "1.30.0"}, {"runtime_version": "1.31.0"})


@pytest.mark.parametrize(
    ("first", "second", "more", "code"),
    [
        (RELEASES[:1], RELEASES[:1], (), 0),
        (RELEASES[:1], RELEASES, (), 1),
        (RELEASES[:1], RELEASES, ("--allow-mixed",), 0),
        (CALLS[:1], CALLS[1:], (), 1),
    ],
    ids=["alike", "two releases", "allowed", "two calls"],
)
def test_rounds_that_were_made_otherwise_pass_no_gate_unasked(
    tmp_path: Path,
    first: tuple[dict[str, str], ...],
    second: tuple[dict[str, str], ...],
    more: tuple[str, ...],
    code: int,
) -> None:
    for name, facts in (("a", first), ("b", second)):
        with RunFolder.create(tmp_path / name, manifest_of((CASE,), 8)) as folder:
            folder.begin(ENVIRONMENT)
            for number in range(8):
                values: dict[str, Any] = facts[number % len(facts)]
                record(folder, CASE, number, [100.0 + number % 2] * 600, **values)
    paths = (str(tmp_path / "a"), str(tmp_path / "b"))
    assert main(["compare", *paths, "--fail-on", "slower", *more]) == code
    if first[0].keys() == RELEASES[0].keys():
        assert main(["compare", *paths]) == 0, "without a gate it is a warning"
