"""What a run answers: leaders, counts, commands, within the lines that a screen has."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.telemetry import Interference
from app.cli.parsers import parse
from app.cli.table import BY_NAME
from app.present.console.answer.document import run_document
from app.present.console.answer.matrix import (
    EQUIVALENT,
    UNDECIDED,
    Matrix,
    labels_of_cases,
    mark_of,
    matrix_of,
    matrix_table,
)
from app.present.console.answer.summary import (
    RunResult,
    leader_sentences,
    rounds_to_decide,
    run_result,
    trust_line,
)
from app.present.console.run_comparison import Comparer
from app.present.document import Command, text_of
from app.present.terminal import as_lines
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu")
Fill = Callable[[RunFolder], None]


def ended(path: Path, cases: Sequence[Case], fill: Fill, rounds: int = 3) -> RunResult:
    with RunFolder.create(path, manifest_of(cases, rounds)) as folder:
        folder.begin(ENVIRONMENT)
        fill(folder)
    run = read_run(path)
    results = Rows().measured(run)
    return run_result(run, results, Comparer().outcome_of(run, results))


def measured(
    path: Path, latencies_us: Sequence[tuple[Case, float]], noise: float = 0.001
) -> RunResult:
    """Three rounds of each case around its latency; rounds differ by this share."""

    def fill(folder: RunFolder) -> None:
        for place, (case, us) in enumerate(latencies_us):
            clock = "simulated" if case.runtime.startswith("fpga") else "wall"
            for number in range(3):
                level = us * (1.0 + noise * ((place + number) % 3 - 1))
                runs = [level * (1.0 + run / 1e5) for run in range(40)]
                record(folder, case, number, runs, clock=clock)

    return ended(path, [case for case, _ in latencies_us], fill)


def cells(matrix: Matrix, width: int = 80) -> list[list[str]]:
    return [[text_of(cell).strip() for cell in row] for row in matrix_table(matrix, width).rows]


def test_what_leads_undecided_and_what_is_the_same_are_marked_otherwise(tmp_path: Path) -> None:
    ort, openvino = (Case("mlp", runtime) for runtime in RUNTIMES[:2])
    noisy = matrix_of(measured(tmp_path / "noisy", [(ort, 20.0), (openvino, 21.0)], noise=0.3))
    assert mark_of(noisy, noisy.lines[0], "ort-cpu") == UNDECIDED
    same = matrix_of(measured(tmp_path / "same", [(ort, 20.0), (openvino, 20.01)]))
    assert {mark_of(same, same.lines[0], name) for name in RUNTIMES[:2]} == {EQUIVALENT}


def test_sentences_count_over_all_models_and_what_never_leads_is_said_once(tmp_path: Path) -> None:
    models = ("cnn_tiny", "cnn_small", "cnn_med", "mlp", "char_cnn")
    figures = [
        (Case(model, runtime), us)
        for place, model in enumerate(models)
        for runtime, us in zip(RUNTIMES, (20.0, 10.0 if place else 30.0, 60.0), strict=True)
    ]
    run = measured(tmp_path / "run", figures)
    first, second = leader_sentences(run, labels_of_cases(matrix_of(run)))
    assert first == "openvino-cpu is fastest in 4 of 5, ort-cpu in 1"
    assert second.partition(": ")[2] == "torch-cpu (3.0 to 6.0 times the p50)"


def test_two_rounds_decide_nothing_and_say_what_would(tmp_path: Path) -> None:
    """A run of more that ended early is resumed, which measures the rounds of its plan."""
    cases = [Case("mlp", runtime) for runtime in RUNTIMES[:2]]

    def fill(folder: RunFolder) -> None:
        for case, us in zip(cases, (10.0, 30.0), strict=True):
            for number in range(2):
                record(folder, case, number, [us] * 40)

    run = ended(tmp_path / "run", cases, fill, rounds=2)
    assert rounds_to_decide(run.contests) == ({3: 1}, 1)
    contests = [replace(run.contests[0], needed=needed) for needed in (5, 30, None)]
    assert rounds_to_decide(contests) == ({30: 2, 5: 1}, 3), "the cheapest is named too"
    assert any("2 rounds" in sentence for sentence in leader_sentences(run, {}))
    assert "2 rounds" in trust_line(run)
    early = ended(tmp_path / "early", cases, fill, rounds=8)
    advised = ["--rounds 3" in "\n".join(as_lines(run_document(r, 80), 80)) for r in (run, early)]
    assert advised == [True, False]


def test_commands_are_understood_and_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    run = measured(folder / "run", [(Case("mlp", name), 20.0) for name in RUNTIMES[:2]], noise=0.2)
    lines = [block.line for block in run_document(run, 80) if isinstance(block, Command)]
    show_lines = [line for line in lines if " show " in line]
    (command,) = show_lines
    words = shlex.split(command)
    show, *rest = words[words.index("show") :]
    flags = parse(BY_NAME[show], rest)
    assert (flags.runs, flags.verbose) == ([str(folder / "run")], True)


def test_no_p50_is_quoted_that_lies_between_two_speeds(tmp_path: Path) -> None:
    """Half of the processes spend most of their time at one speed, the others at the other."""
    slow, steady = Case("mlp", "ort-cpu"), Case("cnn_tiny", "ort-cpu")

    def fill(folder: RunFolder) -> None:
        for number in range(8):
            speeds_us = [20.0, 30.0] if number % 2 else [30.0, 20.0]
            spells = [us + run / 1e3 for us in speeds_us * 3 for run in range(1000)]
            extra = [speeds_us[0] + run / 1e3 for run in range(1000)] * 2
            record(folder, slow, number, spells + extra)
            record(folder, steady, number, [40.0] * 4000)

    result = ended(tmp_path / "run", [slow, steady], fill, 8)
    assert 22.0 < (result.measured[0].value_us("p50") or 0.0) < 29.0
    assert [line[1] for line in cells(matrix_of(result))] == ["20.5 µs", "40.0 µs"]
    (sentence,) = [line for line in leader_sentences(result, {}) if line.startswith("two speeds")]
    assert len(sentence) < 78 and "x1.49" in sentence
    shown = "\n".join(as_lines(run_document(result, 160, verbose=True), 160))
    assert "undisturbed" in shown and "x1.49" in shown
    assert result.rows[1]["level_seen"] is None


def test_a_p50_at_the_typical_clock_is_quoted_where_a_case_follows_it(tmp_path: Path) -> None:
    """Rounds at 4.2 and 4.0 GHz in turn; one engine waits for memory with one of two models."""
    clocks_mhz = [4200.0, 4000.0, 4000.0, 4200.0, 4000.0, 4000.0, 4200.0, 4000.0]
    computing = [Case("mlp", name) for name in RUNTIMES[:2]] + [Case("cnn_tiny", RUNTIMES[0])]
    waiting = Case("cnn_tiny", RUNTIMES[1])

    def fill(folder: RunFolder) -> None:
        for number, mhz in enumerate(clocks_mhz):
            core = Interference(1.0, block_starts_ns=(0,) * 21, cpu_mhz=(mhz,) * 21)
            for case in computing:
                own = 1.0 + 1e-3 * (number % 3)
                record(folder, case, number, [84_000.0 / mhz * own] * 4000, interference=core)
            record(folder, waiting, number, [30.0 + 0.2 * (number % 3)] * 4000, interference=core)

    result = ended(tmp_path / "run", [*computing, waiting], fill, 8)
    clocks = [row["typical_clock_mhz"] for row in result.rows]
    between_mhz = (4000.0 * 4200.0) ** 0.5  # most pairs of rounds have one of either
    assert clocks == [*[pytest.approx(between_mhz)] * 3, None]
    p50_us = pytest.approx(84_000.0 / between_mhz, rel=2e-3)
    assert [row["typical_clock_p50_us"] for row in result.rows] == [*[p50_us] * 3, None]
    assert {line[0]: line[1:3] for line in cells(matrix_of(result))} == {
        "mlp": ["20.5 µs=", "20.5 µs="],
        "cnn_tiny": ["20.5 µs*", "30.2 µs"],
    }
    (sentence,) = [line for line in leader_sentences(result, {}) if "GHz" in line]
    assert "3 of 4" in sentence and "4.10 GHz" in sentence


def test_how_far_intervals_reach_says_that_the_machine_changed_meanwhile(tmp_path: Path) -> None:
    """Where all cases were slow in the same passes; processes that differ by themselves show no
    such change."""
    cases = [Case(f"net{number}", "ort-cpu") for number in range(4)]
    shared = (1.0, 1.01, 1.3, 1.29, 1.02, 1.0, 1.31, 1.28)

    def fill(folder: RunFolder, step: int) -> None:
        for place, case in enumerate(cases):
            for number in range(len(shared)):
                level = shared[(number + step * place) % len(shared)]
                own = 1.0 + 0.002 * ((3 * number + 5 * place) % 7)
                record(folder, case, number, [20.0 * level * own + run / 1e3 for run in range(40)])

    moved, still = (
        trust_line(ended(tmp_path / f"{step}", cases, partial(fill, step=step), len(shared)))
        for step in (0, 3)
    )
    assert moved.endswith(", while the machine changed") and "changed" not in still
