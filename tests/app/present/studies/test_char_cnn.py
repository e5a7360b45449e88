"""The char-CNN's study: the published history beside what was measured, never in one column."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.jobs import Operator, OperatorTimes
from app.cases.scenario import Scenario
from app.plan.studies import load_study
from app.present.studies.char_cnn_ladder import ladder_tables
from app.present.studies.char_cnn_steps import gain
from app.present.studies.page import page
from app.present.studies.study import Found, found_in, study
from app.present.terminal import as_markdown
from app.run_folder.folder import RunFolder
from app.run_folder.operators import write_operators
from app.runs.reader import read_run
from tests.app.capabilities.tuning.tuned_runs import new_tune, play
from tests.app.present.studies.made import make_run, tables
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record, share_of
from tests.checkout import ROOT

RUNTIMES = ["ort-cpu", "torch-cpu"]
OFFLINE = Scenario.parse("offline")
ONE, MANY = (Case("char_cnn", "ort-cpu", axes={"batch": batch}) for batch in (1, 8))


def history() -> list[tuple[str, float]]:
    source = (ROOT / "assets" / "published" / "char_cnn_history.csv").read_text("utf-8")
    rows = csv.DictReader(source.splitlines())
    return [(row["step"], float(row["inputs_per_s"])) for row in rows]


def latency_us(case: Case) -> float:
    """4 ms alone on ort-cpu, twice that without optimisation, half with all threads; a batch costs
    half of what its inputs do, torch a third less."""
    took = 4000.0 * (1.0 + 0.5 * (case.axes["batch"] - 1))
    took *= 2.0 if case.options.get("graph_optimization") == "off" else 1.0
    took *= 0.5 if case.threads == 0 else 1.0
    return took * (2 / 3 if case.runtime == "torch-cpu" else 1.0)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("steps") / "run"
    make_run(folder, "char-cnn/steps", RUNTIMES, latency_us)
    results = found_in(folder, load_study("char-cnn/steps"))
    return as_markdown(page(study("char-cnn/steps"), results))


def test_the_history_is_as_published(told: str) -> None:
    table = tables(told)[0]
    previous: float | None = None
    for row, (step, rate) in zip(table[1:], history(), strict=True):
        assert row[0] == step
        assert float(row[1]) == rate
        if previous is not None:
            assert float(row[2]) == pytest.approx(rate / previous, rel=5e-3)
        previous = rate


def test_what_is_nearest_to_a_step_is_from_two_cases_of_this_run(told: str) -> None:
    assert "are not the study's" not in told
    replicas = next(table for table in tables(told) if "efficiency" in table[0])
    counts = [(row[0], row[1]) for row in replicas[1:]]
    assert counts == [(name, count) for name in RUNTIMES for count in ("1", "2", "4")]
    steps = {row[0]: row[3:] for row in tables(told)[0][1:]}
    # 1 input in 4 ms; 32 in 4 ms x 16.5.
    assert steps["Naively batched computation"][1:] == ["250/s", "485/s", "1.94 (1 round)"]
    assert steps["Naive CUDA conv1d"][1:] == ["250/s", "375/s", "1.50 (1 round)"]
    fused_step = steps["Replace every conv1d with conv1d_kernel, fuse relu"]
    assert fused_step[1:] == ["125/s", "250/s", "2.00 (1 round)"]
    # Runs of one lane each as they were made: as many a second as one session.
    assert steps["Use multiple GPUs"][1:] == ["375/s", "375/s", "1.00 (1 round)"]
    # One input in 4 ms / 2 x 2 / 3.
    assert steps["Naive CUDA linear"][0].startswith("the best of all: torch-cpu, batch 1, auto")
    assert steps["Naive CUDA linear"][1:] == ["250/s", "750/s", "3.00 (1 round)"]


def test_a_gain_has_the_interval_of_its_pairs_of_rounds(tmp_path: Path) -> None:
    """Rounds that differ twofold, all cases of a round alike: the gain is the same in each."""
    with RunFolder.create(tmp_path / "run", manifest_of((ONE, MANY), 3)) as folder:
        folder.begin(ENVIRONMENT)
        for number, level in enumerate((1000.0, 2000.0, 1400.0)):
            record(folder, ONE, number, [level] * 30)
            record(folder, MANY, number, [4.0 * level] * 30)
    single, many = Rows().measured(read_run(tmp_path / "run"))
    assert gain(single, many) == "2.00 (2.00 to 2.00)"
    assert gain(None, many) == ""


def test_where_a_runtime_has_several_devices_they_share_the_inputs(tmp_path: Path) -> None:
    """The scripted one has three: a case on all of them, beside one on the first."""
    make_run(tmp_path / "run", "char-cnn/steps", ["ort-cpu", "fake"], latency_us)
    results = found_in(tmp_path / "run", load_study("char-cnn/steps"))
    text = as_markdown(page(study("char-cnn/steps"), results))
    (multiple,) = [row[3:] for row in tables(text)[0][1:] if row[0] == "Use multiple GPUs"]
    assert multiple[0] == "3 devices share the inputs, fake:0+1+2"
    # Runs of one lane each as they were made: as many a second as on one.
    assert multiple[1:] == ["250/s", "250/s", "1.00 (1 round)"]


def test_of_several_hosts_the_page_is_of_one_and_tells_what_all_serve(tmp_path: Path) -> None:
    anywhere = [replace(ONE, host="", scenario=OFFLINE), ONE]
    placed_cases = [replace(case, host=host) for host in ("board", "server") for case in anywhere]
    with RunFolder.create(tmp_path / "run", manifest_of(placed_cases, 3)) as folder:
        folder.begin(ENVIRONMENT)
        for host in ("board", "server"):
            environment = {"host": host, "machine": host, "cpu": f"that of {host}"}
            own_cases = [case for case in placed_cases if case.host == host]
            with share_of(folder, environment) as share:
                for case, number in product(own_cases, range(3)):
                    record(share, case, number, [2000.0 if host == "board" else 1000.0] * 30)
    results = found_in(tmp_path / "run", load_study("char-cnn/steps"), one_host=True)
    text = as_markdown(page(study("char-cnn/steps"), results))
    assert "The run has 2 hosts, board, server. The tables show board" in text
    assert "on that of board" in text, "the machine above the tables is theirs"
    together = tables(text.partition("### hosts together")[2])[0]
    assert together[0][-1] == "1M inputs"
    assert [row[2] for row in together[2:4]] == ["67%", "33%"]


def test_the_ladder_stands_beside_the_history(tmp_path: Path) -> None:
    with new_tune(tmp_path / "run", "throughput", rounds=8) as folder:
        play(folder)
    page = as_markdown(ladder_tables(Found(read_run(tmp_path / "run"), ())))
    (table,) = tables(page)
    assert [row[0] for row in table[1:8]] == [step for step, _ in history()]
    measured_cells = [row[3] for row in table[1:] if row[3]]
    assert measured_cells[0].startswith("default: fake fp32")
    assert "latency_us=100.0" in measured_cells
    assert table[0][1] == "published inputs/s"
    assert table[0][4] == "measured inputs/s"
    with new_tune(tmp_path / "begun", "throughput", rounds=8) as folder:
        play(folder, most_rounds=2)
    text = as_markdown(ladder_tables(Found(read_run(tmp_path / "begun"), ())))
    assert "there is no ladder yet" in text


FUSED: tuple[tuple[str, list[str], float], ...] = (
    ("Conv", ["node_conv1d"], 100.0),
    ("LayerNorm", ["node_layer_norm", "node_relu"], 10.0),
    ("MaxPool", ["node_max_pool1d"], 5.0),
    ("Reorder", [], 3.0),
    ("Conv", ["node_conv1d_1", "node_relu_1"], 50.0),
    ("Gemm", ["node_Reshape_7", "node_linear", "node_relu_6"], 20.0),
)


def test_the_checklist_is_read_from_the_executed_graph(tmp_path: Path) -> None:
    """An engine that fuses one of four convolutions with its ReLU and one of two linear layers."""
    path = tmp_path / "run"
    (case, *_) = make_run(path, "char-cnn/operators", ["ort-cpu"], lambda case: 1000.0)
    ops = tuple(Operator(op, op, us, op, tuple(holds)) for op, holds, us in FUSED)
    with RunFolder.reopen(path) as folder:
        folder.record(write_operators(folder, OperatorTimes(case.case_id, "wall", 9, ops)))
    results = found_in(path, load_study("char-cnn/operators"))
    text = as_markdown(page(study("char-cnn/operators"), results))
    checklist, times, _ = tables(text)
    cells = {row[2]: row[3] for row in checklist[1:]}
    assert cells["operators executed for 23"] == "6"
    fused = {"conv1d_relu": "1 of 4", "linear_relu": "1 of 2", "layernorm_relu": "1 of 2"}
    fused |= {"conv1d_layernorm": "0 of 2", "layernorm_relu_maxpool1d": "0 of 2"}
    fused |= {"conv1d_relu_conv1d_relu_conv1d_relu_conv1d_layernorm": "0 of 1"}
    assert cells.items() >= (fused | {"linear_relu_linear": "0 of 2"}).items()
    by_block = {row[0]: row[1] for row in times[1:]}
    blocks = {"conv_block_1": "115", "conv_block_2": "50.0", "fc_block_1": "20.0"}
    assert by_block.items() >= (blocks | {"rearranging": "3.00", "all": "188"}).items()
