"""`--cold-start` as a user has it: real processes after the rounds, resumed, or refused."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from app.cases.jobs import PHASES
from app.runs.reader import read_run
from tests.app.headless.batch import FAKE, kill, launch, rows, run

SHORT = ("--headless", "--models", "add.onnx", "--preset", "glance", "--rounds", "1")


def started(folder: Path) -> list[tuple[str, int]]:
    """Subject and number of each process that is recorded, in the journal's order."""
    cold_starts = read_run(folder).cold_starts
    return [(subject, number) for subject, starts in cold_starts.items() for number in starts]


def test_fresh_processes_are_a_distribution_with_its_interval(work: Path) -> None:
    code, out, errors = run(
        *SHORT, "--runtimes", "ort-cpu,fpga:v80", "--cold-start", "6", "--out", "run"
    )
    assert code == 0, errors
    ort, card = rows(work / "run")
    assert (ort["cold_processes"], ort["cold_page_cache"]) == ("6", "warm")
    low, p50, high, longest = (
        float(ort[f"cold_total_{name}_ms"]) for name in ("p50_ci_low", "p50", "p50_ci_high", "max")
    )
    assert 0.0 < low <= p50 <= high <= longest
    assert all(0.0 < float(ort[f"cold_{phase}_p50_ms"]) < p50 for phase in PHASES)
    starts = read_run(work / "run").cold_starts_of(read_run(work / "run").cases[0])
    for start in starts:
        assert start.total_ms == pytest.approx(sum(start.phases_ms.values()))
        assert start.phases_ms["process"] > 1.0, "no interpreter starts in a millisecond"
        assert not start.files
    assert not card["cold_processes"]
    assert "a simulated card" in card["cold_missing_reason"]
    assert "cold start, medians over fresh processes" in out
    assert "6 processes each; page cache warm" in out


@pytest.mark.rare
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it drops files on Linux alone")
def test_files_that_are_dropped_are_seen_to_be(work: Path) -> None:
    code, _, errors = run(
        *SHORT, *FAKE, "--cold-start", "2", "--page-cache", "dropped", "--out", "run"
    )
    assert code == 0, errors
    (starts,) = read_run(work / "run").cold_starts.values()
    assert sorted(starts) == [0, 1], "the process that tells the files is not counted"
    assert all(start.kept_share is not None for start in starts.values())


@pytest.mark.rare
def test_a_resumed_run_starts_only_what_is_missing(work: Path) -> None:
    process = launch(
        *SHORT, *FAKE, "--option", "fake.latency_us=50,60", "--cold-start", "4", "--out", "run"
    )
    deadline = time.monotonic() + 90
    while not ((work / "run/manifest.json").exists() and len(started(work / "run")) >= 3):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    kill(process, work / "run")
    starts_before = read_run(work / "run").cold_starts
    code, out, _ = run("resume", "run")
    assert code == 0
    starts_after = read_run(work / "run").cold_starts
    assert sorted(map(len, starts_after.values())) == [4, 4]
    for subject, starts in starts_before.items():
        assert all(starts_after[subject][number] == start for number, start in starts.items())
    assert "8 processes" not in out and "4 processes each" in out


def test_a_case_of_two_scenarios_starts_cold_once(work: Path) -> None:
    code, _, _ = run(
        *SHORT, *FAKE, "--scenario", "closed_loop,paced:20us", "--cold-start", "1", "--out", "run"
    )
    assert code == 0
    assert len(started(work / "run")) == 1
    assert [row["cold_processes"] for row in rows(work / "run")] == ["1", "1"]


def test_what_could_not_run_is_not_started(work: Path) -> None:
    code, _, _ = run(
        *SHORT, *FAKE, "--option", "fake.fail=none,unsupported", "--cold-start", "2", "--out", "run"
    )
    assert code == 0
    well, refused_row = rows(work / "run")
    assert well["cold_processes"] == "2"
    assert not refused_row["cold_processes"] and not refused_row["cold_missing_reason"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--cold-start", "0"), "--cold-start 0 is not an integer of at least 1"),
        (("--cold-start", "-3"), "--cold-start -3"),
        (("--cold-start", "many"), "--cold-start many"),
        (("--cold-start", "3", "--page-cache", "cold"), "--page-cache cold is not known"),
        (("--page-cache", "dropped"), "add --cold-start 20"),
        (("--cold-start", "3", "--largest-batch"), "has no effect"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    work: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    code, _, errors = run(*SHORT, *FAKE, *arguments, "--out", "run")
    assert code == 2
    assert sentence in errors
    assert not (work / "run").exists()
