"""TensorRT's messages in the words and statuses of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import tensorrt as trt

from runtimes.cuda.driver import OUT_OF_MEMORY, CudaError
from runtimes.faults import CompileFault, OutOfMemory, RunFault, RuntimeFault, Unsupported

_OUT_OF_MEMORY = re.compile(r"out of memory|OutOfMemory|could not allocate", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParserProblem:
    """One entry of the parser's list; `code` is the name that TensorRT gives the kind."""

    code: str
    node: str
    op: str
    text: str


class Log(trt.ILogger):  # type: ignore[misc]
    """Keeps the errors that TensorRT reports beside its return values."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.errors: list[str] = []

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        if severity in (trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR):
            self.errors.append(msg)

    def fault(self, kind: type[RuntimeFault], what: str, remedy: str) -> RuntimeFault:
        """`kind`, or OutOfMemory where the last errors tell of it."""
        if any(map(_OUT_OF_MEMORY.search, self.errors)):
            return OutOfMemory(f"{what}: the GPU's memory is too small", "use a smaller batch")
        reason = plain(self.errors[-1]) if self.errors else "no reason given"
        return kind(f"{what} ({reason})", remedy)


def plain(text: str) -> str:
    """The first line of TensorRT's message without its source positions and codes."""
    line = (text.strip().splitlines() or [""])[0]
    line = re.sub(r"\[?[\w./]+\.(cpp|h|cu|cc)(::\w+)*(::\d+|:\d+)\]?:? ?", "", line)
    line = re.sub(r"(IBuilder|IRuntime|I\w+)::\w+: |Error Code:? ?\d+: ?", "", line)
    return line.strip().rstrip(".") or "no reason given"


def parser_fault(problems: Sequence[ParserProblem], log: Log) -> RuntimeFault:
    """What the parser's list says: its first unsupported node, else its first entry."""
    if not problems:
        return log.fault(CompileFault, "TensorRT could not read the file", "check the file")
    unsupported = [problem for problem in problems if problem.code.startswith("UNSUPPORTED")]
    first = (unsupported or list(problems))[0]
    where = f"the {first.op} node {first.node!r}" if first.op else "the graph"
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    if unsupported:
        return Unsupported(
            f"TensorRT's parser does not take {where} ({first.text}){more}",
            "use another runtime, or another form of the operator",
            node=first.node,
        )
    return CompileFault(
        f"TensorRT's parser stopped at {where} ({first.text}){more}", "check the file and its axes"
    )


def run_fault(error: Exception) -> RuntimeFault:
    """What a run raised, as OutOfMemory or RunFault; one of ours as it is."""
    if isinstance(error, RuntimeFault):
        return error
    if isinstance(error, CudaError) and error.code == OUT_OF_MEMORY:
        return OutOfMemory("the GPU ran out of memory in a run", "use a smaller batch")
    return RunFault(f"TensorRT failed in a run ({error})", "see nvidia-smi")
