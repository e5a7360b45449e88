"""The figures that only some runs have: devices, accuracy, searches, operators, cards, checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.analysis.comparison.aggregate_throughput import throughput_over_hosts
from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.jobs import AccuracyResult, Operator, OperatorTimes, Peak, subject_of
from app.cases.status import Status
from app.cli.notebook import open as open_run
from app.present.report.comparison_figures import hosts as drawn
from app.present.report.figures import hollow_note, timed_cases
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.operators import write_operators
from app.runs.reader import read_run
from exporters.diagnostics import diagnostic
from tests.app.analysis.columns.filled import MODEL
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record, share_of

ORT, OV, CARD = (
    Case("net", runtime, axes=MODEL.axes) for runtime in ("ort-cpu", "openvino-cpu", "fpga:v80")
)
PEAK = Peak(1e11, 1e10, 1 << 20, "numpy")
OPS = (
    Operator("a", "MatMul", 8.0, "mm", ("a",), macs=40_000, bytes_moved=8_000, roof_us=0.8),
    Operator(
        *("<b>", "Relu", 2.0, "relu", ("<b>", "c")),
        in_use_bytes=3_000,
        peak_bytes=5_000,
        arena_bytes=8_000,
    ),
)
TOP_1 = ((ORT, 0.9), (OV, 0.8))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kinds") / "run"
    with RunFolder.create(path, manifest_of((ORT, OV, CARD), rounds=3)) as folder:
        folder.record(ModelExported("net", "fp32", MODEL))
        for case, share in TOP_1:
            line = AccuracyResult(subject_of(case, MODEL).case_id, "d.npz", share, 100, 64)
            folder.record(line)
        folder.record(
            write_operators(folder, OperatorTimes(ORT.case_id, "wall", 9, OPS, "", 11.0, PEAK))
        )
        tiles = {"weight_tiles_used": 96, "weight_tiles_total": 384, "cycles": 500, "io_us": 1.5}
        for number in range(3):
            record(folder, ORT, number, [10.0, 10.001] * 200)
            record(folder, OV, number, [20.0, 20.001] * 200)
            record(folder, CARD, number, [5.0] * 400, clock="simulated", facts=tiles)
    return path


def test_devices_are_beside_each_other_the_fastest_first_and_the_simulated_named(
    path: Path,
) -> None:
    figure = open_run(path).devices().figure
    assert [bars.cases for bars in figure.series] == [(c.case_id,) for c in (CARD, ORT, OV)]
    # Batch 4 in 10 and in 20 us, in a closed loop of one.
    rates = [bars.marks[0].x for bars in figure.series[1:]]
    assert rates == pytest.approx([400_000, 200_000], rel=1e-3)
    assert figure.series[0].marks[0].is_hollow and "simulated" in figure.y.names[0]


def test_a_figure_is_hollow_where_its_row_is_in_doubt(path: Path) -> None:
    run = open_run(path)
    warned = [replace(m, row={**m.row, "warnings": "busy"}) for m in run.measured]
    fault = diagnostic("samples_damaged", round=0, damage="order")
    damaged = replace(run.run, damaged={ORT.case_id: {0: fault}})
    hollow = [
        {case.case_id for case in timed_cases(read, rows) if case.is_hollow}
        for read, rows in ((run.run, run.measured), (run.run, warned), (damaged, run.measured))
    ]
    sound, every = {CARD.case_id}, {c.case_id for c in (ORT, OV, CARD)}
    assert hollow == [sound, every, {CARD.case_id, ORT.case_id}]
    cases = timed_cases(run.run, run.measured)
    assert hollow_note(c for c in cases if c.simulated)
    assert not hollow_note(c for c in cases if not c.simulated)


def test_replicas_are_beside_what_perfect_scaling_would_give(tmp_path: Path) -> None:
    two, four = (replace(ORT, options={"sessions": count}) for count in (2, 4))
    with RunFolder.create(tmp_path / "run", manifest_of((ORT, two, four), rounds=1)) as folder:
        folder.record(ModelExported("net", "fp32", MODEL))
        record(folder, ORT, 0, [10.0] * 400)
        for case, latency_us in ((two, 10.0), (four, 20.0)):
            count = int(case.options["sessions"])
            record(folder, case, 0, [latency_us] * 400, concurrency=count)
    actual, perfect = open_run(tmp_path / "run").replicas().figure.series
    counts = [[mark.x for mark in curve.marks] for curve in (actual, perfect)]
    assert counts == [[1.0, 2.0, 4.0]] * 2
    # Batch 4 in 10 us alone; two take as long, four twice as long.
    assert [round(mark.y) for mark in actual.marks] == [400_000, 800_000, 800_000]
    assert [round(mark.y) for mark in perfect.marks] == [400_000, 800_000, 1_600_000]


def test_hosts_are_parts_of_one_bar(tmp_path: Path) -> None:
    placed_cases = [replace(ORT, host=host) for host in ("board", "<b>server")]
    with RunFolder.create(tmp_path / "run", manifest_of(placed_cases, rounds=3)) as folder:
        folder.begin(ENVIRONMENT)
        folder.record(ModelExported("net", "fp32", MODEL))
        for case in placed_cases:
            environment = {"host": case.host, "machine": case.host}
            with share_of(folder, environment) as share:
                for number in range(3):
                    latency_us = 20.0 if case.host == "board" else 10.0
                    record(share, case, number, [latency_us] * 400)
    rows = Rows().measured(read_run(tmp_path / "run"))
    figure = drawn(throughput_over_hosts(read_run(tmp_path / "run"), rows))
    assert figure is not None
    first, second, both = (series.marks[0] for series in figure.series)
    lengths = [round(mark.x - mark.start) for mark in (first, second)]
    assert lengths == [400_000, 200_000], "parts of one bar"
    assert round(both.x) == round(second.x) == 600_000
    assert drawn(()) is None


def test_accuracy_operators_roofline_and_card_have_the_rows_figures(path: Path) -> None:
    run = open_run(path)
    assert [series.marks[0].y for series in run.accuracy().figure.series] == [90.0, 80.0]
    (bars,) = run.operators(ORT.case_id).figure.series
    assert [mark.x for mark in bars.marks] == [8.0, 2.0]
    assert bars.marks[0].label == "80.0%, 10% of peak"
    points, roof = run.roofline(ORT.case_id).figure.series
    # 80,000 FLOP in 8 us, of 8,000 bytes; the ridge is where 1e10 bytes/s feed 1e11 FLOP/s.
    assert (points.marks[0].x, points.marks[0].y) == (10.0, 1e10)
    assert 10.0 in [mark.x for mark in roof.marks]
    assert max(mark.y for mark in roof.marks) == 1e11
    used_memory, held_memory, top = run.memory(ORT.case_id).figure.series
    assert [(mark.x, mark.y) for mark in used_memory.marks] == [(2, 5_000)], (
        "the second of two reports it"
    )
    assert [mark.y for mark in held_memory.marks] == [8_000]
    assert top.marks[0].y == 5_000 and "<b>" in top.marks[0].text
    assert run.card().figure.marks[0].x == 25.0
    fastest = run.verdicts()
    assert fastest.loc[0, "first"] == "ort-cpu"
    assert bool(fastest.loc[0, "told_apart"])
    assert fastest.loc[0, "verdict"] == "faster"
    for draw in (run.largest_batch, run.replicas, lambda: run.operators(OV.case_id)):
        with pytest.raises(ResultsError):
            draw()
    page = path.with_name("page.html")
    assert main(["report", str(path), "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "&lt;b&gt; + c" in text and "<b>" not in text.partition("<main>")[2], "a name is text"


def test_a_search_says_how_far_it_came_and_what_stopped_it(tmp_path: Path) -> None:
    manifest = manifest_of((Case("net", "ort-cpu", axes={"batch": 1}),))
    manifest = replace(manifest, plan={**manifest.plan, "largest_batch": True})
    statuses: dict[int, Status] = {1: "ok", 2: "ok", 4: "out_of_memory"}
    cases = [Case("net", "ort-cpu", axes={"batch": batch}) for batch in statuses]
    with RunFolder.create(tmp_path / "run", replace(manifest, cases=tuple(cases))) as folder:
        for case, status in zip(cases, statuses.values(), strict=True):
            record(folder, case, 0, [10.0] * 9 if status == "ok" else [], status)
    (series,) = open_run(tmp_path / "run").largest_batch().figure.series
    assert (series.marks[0].x, series.marks[0].label) == (2, "2, out of memory at 4")
    assert len(series.cases) == 3
