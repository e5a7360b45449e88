"""Will it run there: what a check compiles, says, keeps and survives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from onnx import parser

from app.__main__ import main
from tests.app.cli.headless.batch import recorded, rows, run
from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT


def write_graphs(folder: Path) -> None:
    """`sound.onnx`, `vendor.onnx` with an operator that nobody has, and `det.onnx`, which the
    simulated card leaves to the CPU."""
    for name, second, out in (
        ("sound", "Tanh", "2,3,3"),
        ("vendor", "a.vendor.Sharpen", "2,3,3"),
        ("det", "Det", "2"),
    ):
        text = f"""<ir_version: 10, opset_import: ["" : 20, "a.vendor" : 1]>
        g (float[2,3,3] x) => (float[{out}] y) {{ [first] r = Relu(x) [second] y = {second}(r) }}"""
        onnx.save(parser.parse_model(text), folder / f"{name}.onnx")


RUNTIMES = "ort-cpu,openvino-cpu,fpga,fpga:ia-840f,ort-cuda"


@dataclass(frozen=True, slots=True)
class Checked:
    folder: Path
    code: int
    out: str

    def of(self, model: str, runtime: str) -> dict[str, str]:
        """The row of a model on a runtime."""
        (row,) = (r for r in rows(self.folder) if (r["model"], r["runtime"]) == (model, runtime))
        return row


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """Three graphs on real engines, as a user asks for it."""
    folder = tmp_path_factory.mktemp("check")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
        patch.setenv("COLUMNS", "300")
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.chdir(folder)
        write_graphs(folder)
        arguments = ("check", "--models", "*.onnx", "--runtimes", RUNTIMES)
        code, out, _ = run(*arguments, "--out", "run")
    return Checked(folder / "run", code, out)


TIMES = ("latency_", "throughput_", "service_", "iterations", "duration_s", "first_inference_ms",
         "cycles", "io_us", "preset")  # fmt: skip
"""How the columns begin by which rows could be ranked."""


def test_each_row_says_whether_and_how_its_model_compiles(checked: Checked) -> None:
    for runtime, precision in (("ort-cpu", "fp32"), ("openvino-cpu", "fp32"), ("fpga", "bf16")):
        row = checked.of("sound.onnx", runtime)
        ends = (row["status"], row["check_level"], row["precision"])
        assert ends == ("compiles", "opened", precision)
        assert row["runtime_version"] and float(row["compile_ms"]) > 0
        row = checked.of("vendor.onnx", runtime)
        assert (row["status"], row["check_level"]) == ("unsupported", "")
        assert "Sharpen" in row["reason"], "the operator that nobody has"
    row = checked.of("det.onnx", "fpga")
    ends = (row["status"], row["check_level"], row["fallback_ops"])
    assert ends == ("partial", "opened", "Det 1")
    assert "Det 'second' on CPUExecutionProvider" in row["reason"]
    large, small = (checked.of("sound.onnx", name) for name in ("fpga", "fpga:ia-840f"))
    assert float(large["weight_tiles_total"]) > float(small["weight_tiles_total"]) > 0
    for row in rows(checked.folder):
        assert not [name for name in row if name.startswith(TIMES) and row[name]]
    assert "fastest" not in checked.out


def test_what_does_not_run_there_fails_a_run_that_is_strict(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is complete, so that to resume it only asks for its exit code anew."""
    assert checked.code == 0
    monkeypatch.chdir(checked.folder.parent)
    count_before = recorded(checked.folder)
    assert main(["resume", "run", "--strict"]) == 1
    assert recorded(checked.folder) == count_before
    assert main(["resume", "run", "--budget", "1m"]) == 2, "a check takes no budget"


def test_a_crash_of_an_engine_and_one_that_hangs_are_rows(work: Path) -> None:
    """What comes after them is checked by a process of its own."""
    fails = "none,compile_crash,compile_hang,compile,unavailable"
    arguments = ["check", "--models", "add.onnx", "--runtimes", "fake"]
    arguments += ["--option", f"fake.fail={fails}", "--option", "fake.seed=0,1"]
    code, out, _ = run(*arguments, "--time-limit", "3s", "--out", "run")
    statuses: dict[str, list[str]] = {}
    for row in rows(work / "run"):
        (fail,) = re.findall(r"\bfail=(\w+)", row["options"])
        statuses.setdefault(fail, []).append(row["status"])
    assert statuses == {
        "none": ["compiles"] * 2,
        "compile_crash": ["crashed"] * 2,
        "compile_hang": ["timeout"] * 2,
        "compile": ["compile_failed"] * 2,
        "unavailable": ["unavailable"] * 2,
    }
    assert code == 1 and "SIGSEGV" in out


def test_a_check_keeps_to_a_memory_limit(work: Path) -> None:
    """Its compiling processes, and those that export: an input of 4 GiB is not expanded."""
    write_add_graph(work / "huge.onnx", (1 << 30,))
    arguments = ["check", "--models", "add.onnx,huge.onnx", "--runtimes", "fake"]
    assert run(*arguments, "--memory-limit", "16MiB", "--out", "run")[0] == 1
    small, huge = rows(work / "run")
    assert small["status"] == huge["status"] == "out_of_memory"
    assert "the checking process" in small["reason"]
    assert "the export of huge.onnx" in huge["reason"]
