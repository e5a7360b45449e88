"""Checks against the engines' own benchmarks, where they are installed: no wheel brings them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from tests.gpu.device import NotRun
from tests.gpu.subject import Finding, Options, Subject
from tests.gpu.timing_checks import ratio_finding

TOOL_RATIO = (0.9, 1.1)
TOOL_LIMIT_S = 150
# "GPU Compute Time: min = 1 ms, max = 2 ms, mean = 1.5 ms, median = 1.4 ms, ..."
_TRTEXEC = re.compile(r"GPU Compute Time:.*?median = ([0-9.]+) ms")
# "Average inference time cost: 1.4 ms", in some releases "... cost total: 1.4 ms".
_PERF_TEST = re.compile(r"Average inference time cost(?: total)?: ([0-9.]+) ms")


def agrees_with_trtexec(subject: Subject, options: Options) -> Finding:
    """trtexec builds and times the same graph, without copies."""
    path = subject.models.chain.exported.path
    command = ["trtexec", f"--onnx={path}", "--noTF32", "--noDataTransfers", "--useSpinWait"]
    return _ratio(subject, options, [*command, "--warmUp=500", "--iterations=50"], _TRTEXEC)


def agrees_with_perf_test(subject: Subject, options: Options) -> Finding:
    """onnxruntime_perf_test times the same graph, with copies from memory that is not locked."""
    path = subject.models.chain.exported.path
    command = ["onnxruntime_perf_test", "-e", "cuda", "-i", "use_tf32|0", "-m", "times"]
    return _ratio(subject, options, [*command, "-r", "50", "-I", path], _PERF_TEST)


def _ratio(
    subject: Subject, options: Options, command: Sequence[str], pattern: re.Pattern[str]
) -> Finding:
    tool = command[0]
    if shutil.which(tool) is None:
        raise NotRun(f"{tool} is not installed")
    run_ns = subject.median_ns(subject.lane(subject.models.chain, options).run)
    subject.close()
    process = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TOOL_LIMIT_S
    )
    match = pattern.search(process.stdout + process.stderr)
    if process.returncode or match is None:
        raise NotRun(f"{tool} ended with exit code {process.returncode} and without a time")
    tool_ms = float(match[1])
    text = f"{run_ns / 1e6:.3f} ms, {tool} {tool_ms:.3f} ms"
    return ratio_finding(run_ns / 1e6 / tool_ms, text, TOOL_RATIO)
