"""How cases and runs end: faults, references, providers, damaged files, exit codes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from app.cases.column import pairs_in
from app.cases.round import Limits
from app.plan.plan import Lengths, named_lengths
from exporters import install_layout
from exporters.types import EVALUATED, PACKAGED, UNOPTIMISED
from runtimes.fpga.provider.abi import PROVIDER_NAME
from tests.app.cli.headless.batch import FAKE, rows, run
from tests.app.cli.headless.mutant_runs import measured
from tests.exporters.support import graph, model_of, tensor
from tests.mutants import mutants

LENGTHS = Lengths(
    1, 60.0, Limits(0.4, 1.0, 20, warmup_min_s=0.05, warmup_max_s=0.1, warmup_min_iterations=10)
)
RUN_US = "1000"
"""So that a hundred runs warm up at most, and some hundreds are measured."""
HANGS = {"5": "warmup", "150": "measure"}
"""After so many runs -> the phase that it is then in."""

FAULTS: Mapping[str, tuple[str, str]] = {
    "none": ("ok", ""),
    "unavailable": ("unavailable", "set not to be there"),
    "unsupported": ("unsupported", "set to refuse"),
    "compile": ("compile_failed", "set not to compile"),
    "compile_crash": ("crashed", "ended in compile with signal SIGSEGV"),
    "run": ("run_failed", "set to fail this run"),
    "oom": ("out_of_memory", "set to run out of memory"),
    "wrong": ("wrong_output", "differs from the"),
    "nan": ("wrong_output", "NaN or infinite where the other is not"),
    "crash": ("crashed", "ended in first_inference with signal SIGSEGV"),
    "abort": ("crashed", "ended in first_inference with signal SIGABRT"),
    "exit": ("crashed", "ended in first_inference with exit code 0"),
    "noise": ("ok", ""),
    "close_crash": ("ok", ""),
}
"""What goes wrong -> how the row ends, and what its reason holds."""


def test_each_fault_is_one_row_that_explains_it_and_the_sweep_goes_on(work: Path) -> None:
    with patch.dict(named_lengths(), {"quick": LENGTHS}):
        code, out, _ = run(
            *("--headless", "--models", "add.onnx", *FAKE, "--out", "run"),
            *("--option", f"fake.fail={','.join(FAULTS)}"),
        )
    assert code == 1
    row_by_fault = {option(row["options"], "fail"): row for row in rows(work / "run")}
    assert {name: row_by_fault[name]["status"] for name in FAULTS} == {
        name: status for name, (status, _) in FAULTS.items()
    }
    for name, (_, reason) in FAULTS.items():
        assert reason in row_by_fault[name]["reason"], name
        assert row_by_fault[name]["reason"].count("\n") == 0
    assert row_by_fault["wrong"]["latency_p50_us"] != "", "a wrong row keeps its timing"
    assert "engine_crashed_at_close" in row_by_fault["close_crash"]["warning_codes"]
    diagnostics = json.loads(row_by_fault["close_crash"]["diagnostics"])
    crashes = [
        diagnostic for diagnostic in diagnostics if diagnostic["code"] == "engine_crashed_at_close"
    ]
    assert [diagnostic["parameters"] for diagnostic in crashes] == [{"exit_code": -signal.SIGSEGV}]
    assert "SIGSEGV" in out


@pytest.mark.alone
def test_what_hangs_is_ended_where_it_hangs(work: Path) -> None:
    with patch.dict(named_lengths(), {"quick": LENGTHS}):
        code, _, _ = run(
            *("--headless", "--models", "add.onnx", *FAKE, "--out", "run", "--time-limit", "2"),
            *("--option", f"fake.latency_us={RUN_US}", "--option", "fake.fail=hang"),
            *("--option", f"fake.fail_after={','.join(HANGS)}"),
        )
    assert code == 1
    for row in rows(work / "run"):
        assert row["status"] == "timeout"
        phase = HANGS[option(row["options"], "fail_after")]
        assert f"still in {phase} after 2 s: raise --time-limit" in row["reason"]


def option(options: str, name: str) -> str:
    """The value of one option of a row."""
    return pairs_in(options)[name]


def test_a_folder_of_damaged_files_gives_a_row_for_each(work: Path) -> None:
    (work / "nets").mkdir()
    counts = measured(mutants(work / "nets", 20, seed=1), work / "run", "ort-cpu")
    assert counts.total() == 20
    assert counts["ok"] < counts.total() / 2, "so few of them are damaged"


X, Y = tensor("x", [2, 3]), tensor("y", [2, 3])
RAMP = (np.arange(6).reshape(2, 3) / 6).astype(np.float32)
ALL = f"{PACKAGED}, {EVALUATED}, {UNOPTIMISED}"
Row = dict[str, str]


@pytest.fixture
def folder(work: Path) -> Path:
    """Three files of one folder: `data` comes with wrong outputs, `fused` is ONNX Runtime's alone;
    and a data set that is of one of them."""
    node = helper.make_node("Add", ["x", "x"], ["y"], "twice")
    fused_node = helper.make_node(
        "CDist", ["x", "x"], ["y"], "fused", domain="com.microsoft", metric="euclidean"
    )
    for name in ("data", "plain"):
        onnx.save(graph([node], [X], [Y]), work / f"{name}.onnx")
    distances = tensor("y", [2, 2])
    onnx.save(graph([fused_node], [X], [distances], vendor="com.microsoft"), work / "fused.onnx")
    onnx.save_tensor(numpy_helper.from_array(3 * RAMP), work / "data_output_0.pb")
    data_set = work / "test_data_set_0"
    data_set.mkdir()
    for file in ("input_0.pb", "output_0.pb"):
        onnx.save_tensor(numpy_helper.from_array(RAMP), data_set / file)
    return work


def test_each_row_says_which_references_there_are_and_which_it_agrees_with(folder: Path) -> None:
    code, out, _ = run(
        *("--headless", "--models", "data.onnx,plain.onnx,fused.onnx", "--rounds", "1"),
        *("--preset", "glance", "--runtimes", "ort-cpu,openvino-cpu,fake", "--out", "run"),
        *("--option", "fake.fail=none,wrong"),
    )
    row_by_case = {}
    for row in rows(folder / "run"):
        wrong = "!" if "fail=wrong" in row["options"] else ""
        row_by_case[Path(row["model"]).stem, row["runtime"] + wrong] = row
    assert code == 1, "fake is wrong"

    for runtime in ("ort-cpu", "openvino-cpu"):
        row = row_by_case["data", runtime]
        assert _verdict(row) == ("ok", EVALUATED, ALL, f"{EVALUATED}, {UNOPTIMISED}", "false")
        assert float(row["max_rel_error"]) < 1e-6
        assert row["reference_disagreement"].count("; ") == 1, "data against each evaluator"
        assert "by 0.5 of" in row["reference_disagreement"]
        assert row["warning_codes"]
    assert _verdict(row_by_case["data", "fake"]) == ("ok", PACKAGED, ALL, PACKAGED, "false")
    assert _verdict(row_by_case["data", "fake!"])[0::3] == ("wrong_output", "")
    assert "every reference" in row_by_case["data", "fake!"]["reason"]

    row = row_by_case["plain", "ort-cpu"]
    both = f"{EVALUATED}, {UNOPTIMISED}"
    assert _verdict(row)[:2] == ("ok", EVALUATED)
    assert row["references"].startswith(f"{both}, without {PACKAGED} (test_data_set_0 ")
    assert (row["agreeing_references"], row["reference_disagreement"]) == (both, "")
    assert row_by_case["plain", "fake!"]["status"] == "wrong_output"

    assert row_by_case["fused", "ort-cpu"]["only_own_reference"] == "true"
    fused_references = row_by_case["fused", "ort-cpu"]["references"]
    assert fused_references.startswith(f"{UNOPTIMISED}, without ")
    assert f"without {EVALUATED} (" in fused_references
    assert row_by_case["fused", "fake"]["only_own_reference"] == "false"
    assert run("export", "-f", "json", "run")[0] == 0
    document = json.loads((folder / "run" / "results.json").read_text("utf-8"))
    assert [row["only_own_reference"] for row in document["rows"]].count(True) == 1
    assert out.count("References disagree (") == 1


def _verdict(row: Row) -> tuple[str, ...]:
    names = ("status", "reference", "references", "agreeing_references", "only_own_reference")
    return tuple(row[name] for name in names)


OURS = f"ort-ep:{install_layout.module_name('runtimes.fpga.provider')}"


SOURCE = Path(__file__).parents[3] / "runtimes" / "stand_ins" / "provider.c"


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that crashes as it is loaded."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler builds the library that is tried here")
    path = str(tmp_path_factory.mktemp("providers") / "libcrashes.so")
    subprocess.run([compiler, "-shared", "-fPIC", "-DCRASHES", "-o", path, SOURCE], check=True)
    return path


def test_a_provider_is_measured_and_one_that_crashes_costs_its_own_row(
    work: Path, crashing: str
) -> None:
    """As it is loaded: in the child, which is why the parent loads none.

    The card computes in bf16, which ONNX Runtime does not know: hence the tolerance.
    """
    code, _, errors = run(
        "--headless", "--models", "add.onnx", "--preset", "glance", "--rounds", "1",
        "--runtimes", f"{OURS},ort-ep:{crashing},ort-ep:numpy",
        "--option", "ort-ep.card=ia-840f", "--tolerance", "0.05", "--out", "run",
    )  # fmt: skip
    assert code == 1, errors
    row_by_runtime = {row["runtime"]: row for row in rows(work / "run")}
    own, crashed = row_by_runtime[OURS], row_by_runtime[f"ort-ep:{crashing}"]
    assert (own["status"], own["clock"], own["precision"]) == ("ok", "wall", "unknown")
    assert own["execution_provider"] == PROVIDER_NAME
    assert "card=ia-840f" in own["options"]
    assert float(own["latency_p50_us"]) > 0
    assert crashed["status"] == "crashed" and "SIGSEGV" in crashed["reason"]
    assert row_by_runtime["ort-ep:numpy"]["status"] == "unavailable"


def test_a_graph_that_one_engine_alone_runs_is_measured_on_it(work: Path) -> None:
    """Of an index outside its table OpenVINO reads zeros, and nobody knows what is right."""
    text = "(float[rows,3] x) => (float[rows,3] y) { g = Gather(t, i) y = Add(x, g) }"
    constants = {"t": np.ones(3, np.float32), "i": np.array([0, 1, 3])}
    onnx.save(model_of(text, constants), work / "net.onnx")
    run(
        *("--headless", "--models", "net.onnx", "--runtimes", "ort-cpu,openvino-cpu"),
        *("--axis", "rows=2", "--preset", "glance", "--rounds", "1", "--out", "run"),
    )
    refusal, other = rows(work / "run")
    assert refusal["status"] == "run_failed" and "constants" in refusal["reason"]
    assert (other["status"], other["output_ok"]) == ("ok", ""), other["reason"]
    assert "no_reference" in other["warning_codes"]


def test_what_is_only_unsupported_fails_under_strict_or_alone(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1")
    assert run(*base, "--option", "fake.fail=unsupported,none", "--out", "one")[0] == 0
    assert run("resume", "one", "--strict")[0] == 1
    assert run(*base, "--option", "fake.fail=unsupported", "--out", "run")[0] == 1
    (row,) = rows(work / "run")
    assert row["status"] == "unsupported"
