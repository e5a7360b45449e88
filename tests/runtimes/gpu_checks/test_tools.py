"""The checks against the engines' own benchmarks, over programs that print what those print."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gpu.device import NotRun
from tests.gpu.models import Models
from tests.gpu.stand_in import STAND_IN_SIZES, StandInDevice, StandInRuntime
from tests.gpu.subject import Finding, Options, Subject
from tests.gpu.tool_checks import agrees_with_perf_test, agrees_with_trtexec

# 2 * 64 * 64 * 64 * 4 FLOP at 1e8 FLOP/s, and 2 * 64 * 64 * 4 bytes at 4e6 bytes/s.
COMPUTE_MS, COPIES_MS = 20.97, 8.19
TOOLS = [
    pytest.param(
        "trtexec",
        agrees_with_trtexec,
        {"boundary": "device"},
        COMPUTE_MS,
        "[I] GPU Compute Time: min = 1 ms, max = 99 ms, mean = 50 ms, median = {} ms, "
        "percentile(90%) = 98 ms",
        id="trtexec",
    ),
    pytest.param(
        "onnxruntime_perf_test",
        agrees_with_perf_test,
        {"boundary": "host", "host_memory": "pageable"},
        COMPUTE_MS + COPIES_MS,
        "Average inference time cost: {} ms",
        id="onnxruntime_perf_test",
    ),
]


@pytest.mark.parametrize(("name", "check", "options", "run_ms", "text"), TOOLS)
def test_the_tools_time_must_agree(
    name: str,
    check: Callable[[Subject, Options], Finding],
    options: Options,
    run_ms: float,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    device = StandInDevice()
    models = Models(tmp_path, STAND_IN_SIZES)
    subject = Subject(StandInRuntime(device), device, models, str(tmp_path))
    with pytest.raises(NotRun, match="not installed"):
        check(subject, options)

    def write(line: str, code: int = 0) -> None:
        program = programs / name
        program.write_text(f"#!{sys.executable}\nprint({line!r})\nraise SystemExit({code})\n")
        program.chmod(0o755)

    write(text.format(f"{run_ms:.2f}"))
    assert check(subject, options).passed
    write(text.format(f"{2 * run_ms:.2f}"))
    assert not check(subject, options).passed
    write("no GPU", code=1)
    with pytest.raises(NotRun, match="exit code 1"):
        check(subject, options)
