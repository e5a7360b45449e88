"""What a run answers: leaders, counts, commands, within the lines that a screen has."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.scenario import Scenario
from app.cases.status import Status
from app.cli.parsers import parse
from app.cli.table import BY_NAME
from app.present.console.answer.document import run_document
from app.present.console.answer.matrix import (
    EQUIVALENT,
    MAXIMUM_LINES,
    UNDECIDED,
    Line,
    Matrix,
    labels_of_cases,
    mark_of,
    matrix_of,
    matrix_table,
)
from app.present.console.answer.summary import (
    RunResult,
    leader_sentences,
    measured_line,
    rounds_to_decide,
    run_result,
    trust_line,
    warning_counts,
)
from app.present.console.run_comparison import Comparer
from app.present.document import Command, Table, text_of
from app.present.terminal import as_lines
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from exporters.diagnostics import diagnostic
from tests.app.run_folder.measured import CHECK
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu")
MOST_LINES_IN_ALL = 40
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


def test_a_line_has_a_model_and_a_column_a_runtime_and_the_fastest_is_marked(
    tmp_path: Path,
) -> None:
    cases = [Case(model, runtime) for model in ("mlp", "char_cnn") for runtime in RUNTIMES]
    figures = (20.0, 30.0, 40.0, 200.0, 100.0, 300.0)
    matrix = matrix_of(measured(tmp_path / "run", list(zip(cases, figures, strict=True))))
    assert cells(matrix) == [
        ["mlp", "20.0 µs*", "30.0 µs", "40.0 µs"],
        ["char_cnn", "200 µs", "100 µs*", "300 µs"],
    ]


def test_what_leads_undecided_and_what_is_the_same_are_marked_otherwise(tmp_path: Path) -> None:
    ort, openvino = (Case("mlp", runtime) for runtime in RUNTIMES[:2])
    noisy = matrix_of(measured(tmp_path / "noisy", [(ort, 20.0), (openvino, 21.0)], noise=0.3))
    assert mark_of(noisy, noisy.lines[0], "ort-cpu") == UNDECIDED
    same = matrix_of(measured(tmp_path / "same", [(ort, 20.0), (openvino, 20.01)]))
    assert {mark_of(same, same.lines[0], name) for name in RUNTIMES[:2]} == {EQUIVALENT}


def test_simulated_and_published_figures_stand_right_of_a_bar_and_lead_nothing(
    tmp_path: Path,
) -> None:
    cases = [
        (Case("lstm_large", "ort-cpu"), 200.0),
        (Case("lstm_large", "torch-cpu"), 300.0),
        (Case("lstm_large", "fpga:v80"), 8.0),
    ]
    matrix = matrix_of(measured(tmp_path / "run", cases))
    table = matrix_table(matrix, 80)
    assert [column.has_bar for column in table.columns] == [False, False, False, True, False]
    assert [column.group for column in table.columns][3:] == ["simulated", "published"]
    assert cells(matrix)[0] == ["lstm_large", "200 µs*", "300 µs", "8.00 µs", "8.50 µs"]


def test_settings_tell_lines_apart_and_failures_stand_in_their_line(tmp_path: Path) -> None:
    paced_scenario = Scenario("paced", 20.0)
    cases = [
        Case("mlp", runtime, scenario=scenario)
        for scenario in (Scenario(), paced_scenario)
        for runtime in RUNTIMES[:2]
    ]
    cases += [Case("gru", runtime) for runtime in RUNTIMES[:2]]

    def fill(folder: RunFolder) -> None:
        for case in cases[:3]:
            for number in range(3):
                record(folder, case, number, [20.0 + number / 10] * 40)
        record(folder, cases[3], 0, (), "crashed", reason="signal SIGSEGV: report it")
        for number in range(3):
            record(folder, cases[4], number, [20.0 + number / 10] * 40)
            record(folder, cases[5], number, [10.0] * 40, "partial", reason="Loop ran elsewhere")

    matrix = matrix_of(ended(tmp_path / "run", cases, fill))
    assert [row[0] for row in cells(matrix)] == [
        "mlp · closed loop",
        "mlp · paced:20us",
        "gru · closed loop",
    ]
    assert cells(matrix)[1][2] == "crashed"
    assert cells(matrix)[2][1:] == ["20.1 µs", "(10.0 µs)"], "it may not be ranked"


def test_a_runtime_that_is_nowhere_here_has_no_column(tmp_path: Path) -> None:
    cases = [Case("mlp", runtime) for runtime in ("ort-cpu", "torch-cpu", "tensorrt")]

    def fill(folder: RunFolder) -> None:
        for case in cases[:2]:
            record(folder, case, 0, [20.0] * 40)
        record(folder, cases[2], 0, (), "unavailable", reason="no driver: install one")

    run = ended(tmp_path / "run", cases, fill, rounds=1)
    assert matrix_of(run).measured == ("ort-cpu", "torch-cpu")
    assert "1 unavailable" in measured_line(run)


def test_many_options_of_one_model_are_lines_where_columns_have_no_room(tmp_path: Path) -> None:
    times = [100.0 * (1 + place) for place in range(8)]
    cases = [(Case("mlp", "fake", options={"latency_us": us}), us) for us in times]
    matrix = matrix_of(measured(tmp_path / "run", cases))
    narrow, wide = matrix_table(matrix, 80), matrix_table(matrix, 400)
    assert (len(narrow.rows), len(wide.rows)) == (8, 1)
    figures = [
        (Case("mlp", runtime, axes={"batch": 1 + batch}), 20.0 + batch)
        for batch in range(MAXIMUM_LINES + 5)
        for runtime in RUNTIMES[:2]
    ]
    lines = list(as_lines(run_document(measured(tmp_path / "long", figures), 80), 80))
    assert "... and 5 more in results.csv" in lines, "more than fit are counted"


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


@pytest.mark.parametrize(
    ("status", "told"), [("ok", "all outputs right"), ("wrong_output", "1 with wrong outputs")]
)
def test_the_first_line_says_whether_outputs_were_right(
    tmp_path: Path, status: Status, told: str
) -> None:
    case = Case("mlp", "ort-cpu")

    def fill(folder: RunFolder) -> None:
        check = replace(CHECK, output_ok=status == "ok")
        record(folder, case, 0, [20.0] * 40, status, check=check)

    assert told in measured_line(ended(tmp_path / "run", [case], fill, rounds=1))


def test_warnings_are_counts_by_kind_and_no_sentence_of_them_is_shown(tmp_path: Path) -> None:
    cases = [Case(model, "ort-cpu") for model in ("mlp", "char_cnn", "cnn_tiny")]
    busy = diagnostic("cpu_oversubscribed", load_1min=4.0, cores=2)

    def fill(folder: RunFolder) -> None:
        for place, case in enumerate(cases):
            record(folder, case, 0, [20.0] * 40, warnings=(busy,) if place else ())

    run = ended(tmp_path / "run", cases, fill, rounds=1)
    assert warning_counts(run.rows) == [("cpu_oversubscribed", "CPU oversubscribed", 2)]
    text = "\n".join(as_lines(run_document(run, 80), 80))
    assert "warnings in 2 of 3 cases: CPU oversubscribed (2)" in text
    assert "unreliable" not in text
    assert "unreliable" in "\n".join(as_lines(run_document(run, 80, verbose=True), 80))


def test_eighty_cases_fit_a_screen_of_forty_lines_and_eighty_columns(tmp_path: Path) -> None:
    models = (
        *(f"network_with_a_longer_name_{number}" for number in range(8)),
        *("lstm_tiny", "lstm_small", "lstm_med", "lstm_med_deep", "lstm_large"),
        *("cnn_tiny", "cnn_small", "cnn_med", "mlp", "char_cnn", "dense_128_32", "skip_add_2"),
    )
    figures = [
        (Case(model, runtime), 20.0 * (1 + place) * (1 + column / 3))
        for place, model in enumerate(models)
        for column, runtime in enumerate((*RUNTIMES, "fpga:v80"))
    ]
    run = measured(tmp_path / "run", figures, noise=0.2)
    lines = list(as_lines(run_document(run, 80), 80))
    commands = [block.line for block in run_document(run, 80) if isinstance(block, Command)]
    assert len(run.rows) == 80 and len(lines) <= MOST_LINES_IN_ALL
    assert all(len(line) <= 80 for line in lines if line.strip().split("  #")[0] not in commands)
    first_words = [line.split()[0] for line in lines if line.strip()]
    assert sum(first_words.count(model) for model in models) == 20, "no line of the table is cut"


def test_no_line_is_compared_with_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [Case(f"net{number}.onnx", "ort-cpu") for number in range(40)]
    result = measured(tmp_path / "run", [(case, 20.0) for case in cases])
    lines_looked_at: list[Line] = []
    representative = vars(Line)["representative"]

    def count_call(line: Line) -> MeasuredCase:
        lines_looked_at.append(line)
        found: MeasuredCase = representative.fget(line)
        return found

    monkeypatch.setattr(Line, "representative", property(count_call))
    assert len(matrix_of(result).lines) == len(cases)
    assert len(lines_looked_at) <= 3 * len(cases)


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


def test_a_comparison_is_the_answer_and_its_cases_are_printed_once(tmp_path: Path) -> None:
    cases = [Case("mlp", runtime) for runtime in RUNTIMES[:2]]
    manifest = manifest_of(cases, 4)
    manifest = replace(manifest, plan={**manifest.plan, "baseline": "ort-cpu"})
    with RunFolder.create(tmp_path / "run", manifest) as folder:
        folder.begin(ENVIRONMENT)
        for case, us in zip(cases, (100.0, 130.0), strict=True):
            for number in range(4):
                record(folder, case, number, [us + number] * 600)
    run = read_run(tmp_path / "run")
    rows = Rows().measured(run)
    blocks = list(run_document(run_result(run, rows, Comparer().outcome_of(run, rows)), 80))
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [text_of(row[-1]) for row in table.rows] == ["slower", "slower"]


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
