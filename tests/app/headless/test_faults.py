"""Whatever an engine does, it costs one row that says what it did, and the sweep goes on.

docs/faults.md lists the faults with what their rows say, and where each is tried.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from app.cases.column import pairs_in
from app.cases.round import Limits
from app.plan import plan
from app.plan.plan import Lengths
from tests.app.headless.batch import FAKE, rows, run

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
    with patch.object(plan, "named_lengths", lambda: {"quick": LENGTHS}):
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
    with patch.object(plan, "named_lengths", lambda: {"quick": LENGTHS}):
        code, _, _ = run(
            *("--headless", "--models", "add.onnx", *FAKE, "--out", "run", "--time-limit", "3"),
            *("--option", f"fake.latency_us={RUN_US}", "--option", "fake.fail=hang"),
            *("--option", f"fake.fail_after={','.join(HANGS)}"),
        )
    assert code == 1
    for row in rows(work / "run"):
        assert row["status"] == "timeout"
        phase = HANGS[option(row["options"], "fail_after")]
        assert f"still in {phase} after 3 s: raise --time-limit" in row["reason"]


def option(options: str, name: str) -> str:
    """The value of one option of a row."""
    return pairs_in(options)[name]
