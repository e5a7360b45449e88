"""What a plan or flags ask for is what is measured: options, inputs, state, types, searches."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save_model

from app.cases.column import pairs_in
from app.workers.execution_facts import precision_diagnostics
from exporters.types import ExportedModel
from runtimes.execution import Execution
from runtimes.onnxruntime.runtime import OrtCpu
from tests.app.headless.batch import recorded, rows, run
from tests.app.sweep.wide_graph import write_wide_graph
from tests.exporters.support import graph, tensor


def test_rows_tell_all_options_and_a_spelled_out_default_is_no_other_case(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu", "--rounds", "1")
    option = "ort-cpu.graph_optimization=all,off"
    code, out, _ = run(*base, "--option", option, "--out", "one")
    assert code == 0
    (work / "plan.toml").write_text(
        'rounds = 1\n[[sweeps]]\nmodels = ["add.onnx"]\nruntimes = ["ort-cpu"]\n'
        "[sweeps.options.ort-cpu]\n"
        'graph_optimization = ["all", "off"]\nintra_op_spinning = [true]\n'
    )
    assert run("--headless", "--plan", "plan.toml", "--out", "two")[0] == 0
    first_rows, two = rows(work / "one"), rows(work / "two")
    assert [row["case_id"] for row in first_rows] == [row["case_id"] for row in two]
    assert [row["options"] for row in first_rows] == [row["options"] for row in two]
    plain, off = (pairs_in(row["options"]) for row in first_rows)
    assert plain["graph_optimization"] == "all"
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


def save_quantised(path: Path) -> None:
    """x -> Q/DQ -> Conv with 8-bit weights -> Q/DQ, as quantising tools write it."""
    arrays: dict[str, np.ndarray] = {
        "s": np.array(0.05, np.float32),
        "z": np.array(0, np.int8),
        "k": np.random.default_rng(0).integers(-90, 90, (8, 4, 3)).astype(np.int8),
    }
    edges = [("QuantizeLinear", "x", "xq"), ("DequantizeLinear", "xq", "xd")]
    edges += [("DequantizeLinear", "k", "kd"), ("QuantizeLinear", "c", "cq")]
    edges += [("DequantizeLinear", "cq", "y")]
    nodes = [
        helper.make_node(op, [source, "s", "z"], [output_name]) for op, source, output_name in edges
    ]
    nodes.insert(3, helper.make_node("Conv", ["xd", "kd"], ["c"]))
    save_model(graph(nodes, [tensor("x", [1, 4, 10])], [tensor("y", [1, 8, 8])], arrays), path)


def save_doubles(path: Path) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = (tensor(name, [1, 8], TensorProto.DOUBLE) for name in "xy")
    save_model(graph([node], [x], [y], {"w": np.eye(8)}), path)


def test_the_types_of_a_file_are_what_was_asked_for(work: Path) -> None:
    save_quantised(work / "quantised.onnx")
    save_doubles(work / "doubles.onnx")
    models = ("--models", "quantised.onnx,doubles.onnx", "--runtimes", "ort-cpu")
    code, out, errors = run("--headless", *models, "--preset", "glance", "--rounds", "1")
    assert code == 0, out + errors
    (folder,) = (work / "graphlap-results").iterdir()
    precisions = {row["model"]: row["precision"] for row in rows(folder)}
    assert precisions["quantised.onnx"] == "int8"
    assert not any("precision_changed" in row["warning_codes"] for row in rows(folder))


@pytest.mark.parametrize(
    ("asked", "narrowest", "executed", "warns"),
    [
        ("fp32", "fp32", "fp16", True),
        ("fp32", "int8", "int8+fp16", True),
        ("fp32", "fp32", "unknown", True),
        ("int8", "int8", "fp32", True),
        ("fp16", "fp16", "fp32", True),
        ("fp32", "fp32", "integer", False),
        ("fp32", "int8", "int8+fp32", False),
        ("fp32", "fp16", "fp16", False),
    ],
)
def test_another_type_than_the_files_is_warned_of(
    asked: str, narrowest: str, executed: str, warns: bool
) -> None:
    model = ExportedModel(
        name="m", suite="", family="", path="", sha256="", opset=17,
        precision=asked, inputs=(), outputs=(), axes={}, references={}, reference="",  # type: ignore[arg-type]
        narrowest=narrowest,
    )  # fmt: skip
    assert bool([*precision_diagnostics(model, Execution("p", executed, "d", "c"))]) == warns


QUICK = ("--headless", "--rounds", "1", "--out", "run")


@pytest.fixture
def step(work: Path) -> Path:
    """y = x + h, and h' = y."""
    nodes = [
        helper.make_node("Add", ["x", "h"], ["y"]),
        helper.make_node("Identity", ["y"], ["next"]),
    ]
    shape: list[int | str | None] = ["batch", 3]
    takes = [tensor(name, shape) for name in ("x", "h")]
    gives = [tensor(name, shape) for name in ("y", "next")]
    path = work / "step.onnx"
    save_model(graph(nodes, takes, gives), path)
    return path


@pytest.mark.rare
def test_drawn_inputs_are_told_rotated_and_kept(step: Path, work: Path) -> None:
    code, _, stderr = run(
        *(*QUICK, "--models", "step.onnx", "--batch", "1,2", "--runtimes", "ort-cpu,openvino-cpu"),
        *("--input-range", "x=2:3", "--rotate-inputs", "--save-inputs", "--option"),
        "ort-cpu.sessions=1,2",
    )
    assert code == 0, stderr
    table = rows(work / "run")
    assert {row["status"] for row in table} == {"ok"}
    assert {row["inputs_drawn"] for row in table} == {"x 2..3, h normal"}
    assert {row["user_files"] for row in table} == {"input_range=x:2:3 rotated"}
    assert {row["input_sets"] for row in table} == {"8 sets in turn"}
    assert {row["preset"] for row in table} == {"quick"}
    files = sorted((work / "run" / "inputs").iterdir())
    assert len(files) == 2 * 8
    with np.load(files[0]) as first, np.load(files[1]) as second:
        assert sorted(first.files) == ["h", "x"]
        assert first["x"].shape == (1, 3)
        assert 2 <= first["x"].min() <= first["x"].max() <= 3
        assert not np.array_equal(first["x"], second["x"])


def test_several_files_are_fed_in_turn_and_a_card_says_that_it_cannot(
    step: Path, work: Path
) -> None:
    for name, value in (("a", 1.0), ("b", 2.0)):
        arrays = {key: np.full((2, 3), value, np.float32) for key in ("x", "h")}
        np.savez(work / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    arguments = ("--models", "step.onnx", "--inputs", "a.npz,b.npz")
    run(*QUICK, *arguments, "--save-inputs", "--runtimes", "ort-cpu,fpga:v80")
    on_cpu, on_card = rows(work / "run")
    assert (on_cpu["status"], on_cpu["batch_size"]) == ("ok", "2")
    assert on_cpu["user_files"] == "inputs=a.npz,b.npz"
    assert on_card["status"] == "unsupported"
    assert "give --inputs one set" in on_card["reason"]
    with np.load(sorted((work / "run" / "inputs").iterdir())[0]) as second:
        assert second["x"][0, 0] == 2.0


def test_a_files_own_state_is_fed_back(step: Path, work: Path) -> None:
    arguments = ("--models", "step.onnx", "--batch", "1", "--runtimes", "ort-cpu")
    assert run(*QUICK, *arguments, "--state", "next=h")[0] == 0
    (row,) = rows(work / "run")
    assert (row["status"], row["user_files"]) == ("ok", "states=next:h")
    _, out, _ = run("--headless", *arguments, "--state", "nxt=h", "--rounds", "1", "--out", "two")
    assert "has no output 'nxt', which --state names: did you mean 'next'?" in out


def test_a_state_that_grows_is_refused_in_one_sentence(work: Path) -> None:
    nodes = [helper.make_node("Concat", ["past", "x"], ["present"], axis=1)]
    takes = [tensor("x", [1, 1]), tensor("past", [1, "n"])]
    save_model(graph(nodes, takes, [tensor("present", [1, "m"])]), work / "cache.onnx")
    _, out, _ = run(
        *(*QUICK, "--models", "cache.onnx", "--axis", "n=4", "--runtimes", "ort-cpu"),
        *("--state", "present=past"),
    )
    assert "the output 'present' of cache.onnx is float32 [1, 5] and cannot become" in out
