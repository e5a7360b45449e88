"""A run in full: rows, what to doubt, why rows are missing, when to spread rounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.scenario import Scenario
from app.cases.telemetry import Interference
from app.cases.units import DEFAULT
from app.present.console.answer.document import run_document, shown_blocks
from app.present.console.answer.summary import run_result
from app.present.console.row_table import sort_column
from app.present.console.run_summary import ADVISED, ADVISED_CONTENDED, SHORT_S, spread_advice
from app.present.terminal import as_lines, as_text
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.intervals import CLOSE_CONTENDED_S
from app.stats.required_rounds import MAXIMUM_ROUNDS
from exporters import diagnostics as rendering
from exporters.diagnostics import diagnostic
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

MLP = Case("mlp", "fake", axes={"batch": 4})
TWICE = [20.0] * 30
BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run"


def measured(path: Path, *cases: Case, **facts: Any) -> list[MeasuredCase]:
    """The rows, with what they are made of, of these cases, measured twice with runs of 20 us."""
    with RunFolder.create(path, manifest_of(cases)) as folder:
        folder.begin(ENVIRONMENT)
        for case in cases:
            for number in range(2):
                record(folder, case, number, TWICE, **facts)
    return rows_of(path)


def rows_of(path: Path) -> list[MeasuredCase]:
    return Rows().measured(read_run(path))


def shown(
    path: Path,
    width: int = 200,
    sort: str = "",
    rows: Sequence[MeasuredCase] = (),
    verbose: bool = True,
) -> str:
    """The run in full, with other rows if some are given."""
    results = rows or rows_of(path)
    return as_text(shown_blocks(read_run(path), results, width, sort, verbose=verbose), width)


def test_what_differs_is_a_column_and_what_is_common_stands_below(path: Path) -> None:
    """Also a scenario in its words, the folders of files of one name, a share of late runs; and
    published figures stand under the rows of their model."""
    words = ("multistream:8", "rate:200/s", "burst:8@10ms", "offline", "paced:20us")
    scenarios = [replace(MLP, scenario=Scenario.parse(word)) for word in words]
    files = [Case(f"/a/{folder}/net.onnx", "fake") for folder in "xy"]
    rows = measured(path, Case("lstm_large", "fake"), MLP, *scenarios, *files)
    text = shown(path)
    assert all(word in text for word in (*words, "closed_loop", "x/net.onnx", "y/net.onnx"))
    lines = text.splitlines()
    places = [
        next(k for k, line in enumerate(lines) if word in line)
        for word in ("lstm_large", "published (", "mlp")
    ]
    assert places == sorted(places) and "8.50 µs" in lines[places[1]]
    assert "> 100 µs" not in text and "detectable slowdown" not in text
    late = {"deadline_us": 100.0, "deadline_miss_rate": 0.00013}
    late |= {"deadline_miss_rate_ci_low": 0.00009, "deadline_miss_rate_ci_high": 0.00021}
    text = shown(path, rows=[replace(result, row={**result.row, **late}) for result in rows])
    assert "> 100 µs" in text and "0.013 %" in text and "0.0090 % to 0.021 %" in text
    measured(path.with_name("threads"), MLP, replace(MLP, threads=2))
    head, common = (
        next(
            line for line in shown(path.with_name("threads")).splitlines() if line.startswith(word)
        )
        for word in ("model", "every measured case: ")
    )
    assert "threads" in head and "scenario" not in head
    assert "scenario closed_loop" in common and "threads" not in common


def test_a_warned_row_never_stands_there_in_plain_green(path: Path) -> None:
    """A p99 of 20 ms beside a p50 of 107 us, and not one word: it was sent to the boss."""
    latencies = ([107.0] * 19 + [20_000.0]) * 20
    sound = replace(MLP, threads=2)
    with RunFolder.create(path, manifest_of((MLP, sound), 1)) as folder:
        folder.begin(ENVIRONMENT)
        record(folder, MLP, 0, latencies, warnings=(BUSY,))
        record(folder, sound, 0, [107.0] * 400)
    run_outcome = run_result(read_run(path), rows_of(path))
    text = "\n".join(as_lines(run_document(run_outcome, 200, verbose=True), 200, colored=True))
    bad, good = (line for line in text.splitlines() if "mlp" in line and "107 µs" in line)
    assert "\x1b[33mok (1,2)" in bad, "yellow, and it says which notes to read"
    assert "\x1b[32mok" in good
    assert text.count(rendering.message(BUSY)) == 1
    assert text.count(rendering.message(diagnostic("outliers", share=0.05))) == 1


def test_rows_come_in_the_order_that_was_asked_for(path: Path) -> None:
    cases = [replace(MLP, threads=threads) for threads in (1, 2, 3)]
    with RunFolder.create(path, manifest_of(cases, 1)) as folder:
        folder.begin(ENVIRONMENT)
        for case, latency in zip(cases[:2], (30.0, 20.0), strict=True):
            record(folder, case, 0, [latency] * 30)
        record(folder, cases[2], 0, (), "crashed", reason="ended by SIGSEGV")

    def threads(sort: str) -> list[str]:
        table = shown(path, sort=sort).splitlines()
        return [line.split()[3] for line in table if line.startswith("mlp") and "fake" in line]

    assert threads("") == ["1", "2", "3"]
    assert threads(sort_column("p50", DEFAULT)) == ["2", "1", "3"], "what has no median comes last"
    assert threads("threads") == ["1", "2", "3"]
    assert sort_column("latency_p99_us", DEFAULT) == "latency_p99_us"
    with pytest.raises(PlanError, match="latency_p99_us"):
        sort_column("latency_p9_us", DEFAULT)


def test_it_is_said_how_many_rounds_a_sure_figure_takes_and_what_these_would_find(
    path: Path,
) -> None:
    """On eighty columns too, where a user decides whether to measure on."""
    cases = (MLP, replace(MLP, threads=2))
    with RunFolder.create(path, manifest_of(cases)) as folder:
        folder.begin(ENVIRONMENT)
        for case, spread in zip(cases, (0.5, 2.0), strict=True):
            for number in range(4):
                record(folder, case, number, [20.0 + spread * number] * 30)
    results = rows_of(path)
    rows = [result.row for result in results]
    assert all(row["required_rounds_p50"] and row["required_rounds_p99"] is None for row in rows)
    first, second = (row["required_rounds_p50"] for row in rows)
    text = " ".join(shown(path, width=80).split())
    assert f"±5 % needs {first} to {second} rounds for p50 (4 were run)" in text
    assert "--ci-width p50=5%" in text
    changes = [f"{100 * float(row['detectable_slowdown_p50'] or 0):.0f}" for row in rows]
    assert f"detectable slowdown at 90 % power with 4 rounds: p50 {' to '.join(changes)} %" in text


def advice(path: Path, logs: list[float], span_s: float, switches: int = 0) -> str:
    """Of rounds whose medians have these logarithms, begun over so many seconds."""
    rng = np.random.default_rng(1)
    with RunFolder.create(path, manifest_of((CASE,), len(logs))) as folder:
        folder.begin(ENVIRONMENT)
        for number, log in enumerate(logs):
            second = span_s * number / (len(logs) - 1)
            began = f"2026-03-01T02:{int(second) // 60:02}:{second % 60:06.3f}+00:00"
            latencies = 100.0 * np.exp(log + 0.001 * rng.standard_normal(100))
            interference = Interference(seconds=1.0, involuntary_switches=switches)
            facts: dict[str, Any] = {"started_at_utc": began, "interference": interference}
            record(folder, CASE, number, latencies.tolist(), **facts)
    run = read_run(path)
    return spread_advice(run, Rows().measured(run))


@pytest.mark.parametrize(
    ("log", "span_s", "switches", "advised"),
    [
        (0.2, 20.0, 0, ADVISED),
        (0.2, SHORT_S + 1.0, 0, ""),
        (0.0001, 20.0, 0, ""),
        (0.2, 0.0, 0, ""),
        (0.2, SHORT_S + 1.0, 50, ADVISED_CONTENDED),
        (0.2, CLOSE_CONTENDED_S + 1.0, 50, ""),
    ],
)
def test_it_is_advised_where_rounds_differ_within_a_short_time(
    tmp_path: Path, log: float, span_s: float, switches: int, advised: str
) -> None:
    """Rounds beside other work are spread farther."""
    advice_text = advice(tmp_path / "run", [log, -log] * 2, span_s, switches)
    assert (f"--spread {advised} " in advice_text) if advised else not advice_text


def test_a_number_of_rounds_is_named_where_so_many_would_help(tmp_path: Path) -> None:
    """Some rounds, not hundreds, and none where the rounds that there are resemble each other."""
    few = advice(tmp_path / "few", [0.05, -0.05] * 2, 20.0)
    (round_count,) = re.findall(r"--rounds (\d+)", few)
    assert 4 < int(round_count) <= MAXIMUM_ROUNDS
    assert "--rounds" not in advice(tmp_path / "many", [0.5, -0.5] * 2, 20.0)
    slope = np.linspace(-0.06, 0.06, 10).tolist()
    slope_advice = advice(tmp_path / "slope", slope, 100.0)
    assert "--spread" in slope_advice and "--rounds" not in slope_advice
