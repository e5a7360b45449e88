"""What a plan or flags ask for is what is measured: options, sessions, operators, searches."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from app.cases.column import pairs_in
from runtimes.onnxruntime.runtime import OrtCpu
from tests.app.headless.batch import FAKE, recorded, rows, run
from tests.app.sweep.wide_graph import write_wide_graph


def test_a_plan_file_and_the_same_flags_give_the_same_cases(work: Path) -> None:
    (work / "plan.toml").write_text(
        'rounds = 1\n[[sweeps]]\nmodels = ["add.onnx"]\nruntimes = ["fake"]\nthreads = [1, 2]\n'
    )
    assert run("--headless", "--plan", "plan.toml", "--out", "one")[0] == 0
    flags = ("--headless", "--models", "add.onnx", *FAKE, "--threads", "1,2", "--rounds", "1")
    assert run(*flags, "--out", "two")[0] == 0
    first_ids, two = ([row["case_id"] for row in rows(work / name)] for name in ("one", "two"))
    assert first_ids == two


def test_rows_tell_all_options_and_a_spelled_out_default_is_no_other_case(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu", "--rounds", "1")
    option = "ort-cpu.graph_optimization=all,basic,off"
    code, out, _ = run(*base, "--option", option, "--out", "one")
    assert code == 0
    (work / "plan.toml").write_text(
        'rounds = 1\n[[sweeps]]\nmodels = ["add.onnx"]\nruntimes = ["ort-cpu"]\n'
        "[sweeps.options.ort-cpu]\n"
        'graph_optimization = ["all", "basic", "off"]\nintra_op_spinning = [true]\n'
    )
    assert run("--headless", "--plan", "plan.toml", "--out", "two")[0] == 0
    first_rows, two = rows(work / "one"), rows(work / "two")
    assert [row["case_id"] for row in first_rows] == [row["case_id"] for row in two]
    assert [row["options"] for row in first_rows] == [row["options"] for row in two]
    plain, basic, off = (pairs_in(row["options"]) for row in first_rows)
    assert plain["graph_optimization"] == "all"
    assert plain | {"graph_optimization": "basic"} == basic
    assert {name for name in plain if plain[name] != off[name]} == {"graph_optimization"}
    assert set(plain) == {option.name for option in OrtCpu().options}
    assert "graph_optimization=off" in out
    assert "memory_arena" not in out, "people are told what differs"


def test_operators_are_profiled_after_the_rounds_and_a_resume_adds_what_lacks(work: Path) -> None:
    arguments = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu,fake")
    code, out, _ = run(*arguments, "--rounds", "1", "--op-times", "--out", "run")
    assert code == 0
    assert "operators of add.onnx ort-cpu" in out
    lines = operator_lines(work / "run")
    by_reason = {bool(line["reason"]): line for line in lines}
    assert len(lines) == 2
    assert "does not report" in by_reason[True]["reason"], "fake runs no operators"
    table = work / "run" / by_reason[False]["file"]
    (operator,) = csv.DictReader(table.read_text().splitlines())
    assert operator["op"] == "Add"
    assert float(operator["share"]) == 1.0
    assert [row["status"] for row in rows(work / "run")] == ["ok", "ok"]

    (journal,) = (work / "run" / "journal").iterdir()
    other_lines = [
        line for line in journal.read_text().splitlines() if '"kind":"operators"' not in line
    ]
    journal.write_text("\n".join(other_lines) + "\n")
    assert run("resume", "run")[0] == 0
    assert len(operator_lines(work / "run")) == 2
    assert recorded(work / "run") == 2


NETWORK = """
import torch

def build():
    layers = [torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)]
    return torch.nn.Sequential(*layers), {"x": torch.zeros(1, 256)}
"""


@pytest.mark.rare
def test_runtimes_stand_side_by_side_by_the_nodes_of_the_file(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each names and fuses them in its own way; the work of a node is the file's own."""
    monkeypatch.delenv("COLUMNS")
    (work / "net.py").write_text(NETWORK)
    code, out, log = run(
        *("--headless", "--models", "net.py:build", "--batch", "4", "--rounds", "1"),
        *("--runtimes", "ort-cpu,openvino-cpu,torch-cpu,fpga:v80", "--op-times"),
        *("--out", "run"),
    )
    assert code == 0, log
    names = {row["case_id"]: row["runtime"] for row in rows(work / "run")}
    macs = {}
    for line in operator_lines(work / "run"):
        table = list(csv.DictReader((work / "run" / line["file"]).read_text().splitlines()))
        runtime = names[line["case_id"]]
        macs[runtime] = sum(int(op["macs"] or 0) for op in table)
        node_names = {name for op in table for name in op["holds"].split(" + ")}
        assert {"node_linear", "node_linear_1"} <= node_names, (runtime, node_names)
        # A card's schedule is no wall time, and says nothing of this machine's peak.
        assert (line["peak"] is None) == (runtime == "fpga:v80")
        assert any(op["peak_share"] for op in table) == (runtime != "fpga:v80")
        assert float(line["total_us"]) > 0
    assert macs == dict.fromkeys(names.values(), 4 * (256 * 512 + 512 * 64))
    assert "nodes of the file side by side, wall clock" in out
    assert "side by side, simulated" not in out
    assert "GFLOP/s" in out and "numpy" in out
    lines = [line for line in out.splitlines() if not line.startswith("  python -m app ")]
    assert max(map(len, lines)) <= 80, "but commands, which are to be copied"


def operator_lines(folder: Path) -> list[dict[str, str]]:
    return [
        line
        for path in sorted((folder / "journal").iterdir())
        for line in map(json.loads, path.read_text().splitlines())
        if line["kind"] == "operators"
    ]


@pytest.mark.rare
def test_a_search_keeps_its_tries_tells_its_result_and_resumes(work: Path) -> None:
    write_wide_graph(work / "wide.onnx", ("N", 4))
    arguments = ("--headless", "--models", "wide.onnx", "--runtimes", "ort-cpu")
    code, out, log = run(
        *arguments, "--largest-batch", "--memory-limit", "160MiB", "--batch", "8", "--out", "run"
    )
    assert code == 0, log
    status_by_size = {
        int(row["axes"].removeprefix("N=")): row["status"] for row in rows(work / "run")
    }
    assert next(iter(status_by_size)) == 8
    assert set(status_by_size.values()) == {"ok", "out_of_memory"}
    largest = max(size for size, status in status_by_size.items() if status == "ok")
    assert f" {largest} " in out
    assert "out of memory at" in out and "160MiB" in out
    live = json.loads((work / "run" / "live.json").read_text())
    assert live["rounds_done"] == live["rounds_total"] == live["cases_total"] == len(status_by_size)
    assert run("resume", "run")[0] == 0
    assert recorded(work / "run") == len(status_by_size)


MODULE = """
import torch

def build():
    return torch.nn.Linear(4, 4), {"x": torch.zeros(1, 4)}
"""


@pytest.mark.rare
def test_sessions_at_once_are_an_option_of_the_sweep(work: Path) -> None:
    (work / "net.py").write_text(MODULE)
    options = ("ort-cpu.sessions=1,2", "openvino-cpu.sessions=2", "torch-cpu.sessions=2")
    code, _, stderr = run(
        *("--headless", "--models", "net.py:build", "--runtimes", "ort-cpu,openvino-cpu,torch-cpu"),
        *(text for option in options for text in ("--option", option)),
        *("--rounds", "1", "--out", "run"),
    )
    assert code == 0, stderr
    table = rows(work / "run")
    assert [(row["runtime"], row["concurrency"]) for row in table] == [
        ("ort-cpu", "1"),
        ("ort-cpu", "2"),
        ("openvino-cpu", "2"),
        ("torch-cpu", "2"),
    ]
    for row in table:
        assert (row["status"], row["output_ok"]) == ("ok", "true")
        assert f"sessions={row['concurrency']}" in row["options"].split(";")
        per_run = float(row["throughput_per_s"]) * float(row["latency_mean_us"]) / 1e6
        assert per_run == pytest.approx(float(row["concurrency"]))
