"""Errors of TensorRT from its messages, and the layers that its builder reports where an engine
can't be loaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from runtimes.cuda.driver import OUT_OF_MEMORY, CudaError
from runtimes.errors import (
    CompileFault,
    OutOfMemory,
    RunFault,
    RuntimeFault,
    Unsupported,
    tells_of_no_memory,
)

if TYPE_CHECKING:
    import tensorrt


BEGIN = "Layers:\n"
"""How the builder's message starts."""
_LAYER = re.compile(
    r"^Name: (?P<Name>.*?), LayerType: (?P<LayerType>\w+), (?P<rest>.*)$", re.MULTILINE
)
_PART = re.compile(r"(?:^|, )(Inputs|Constants|Outputs|TacticName|StreamId|Metadata): ")
_TENSOR = re.compile(r"\{ Name: (?P<Name>.*?), Dimensions: .*?Datatype: (?P<DataType>\w+)")


def layers_json_of(message: str) -> str:
    """What the inspector would tell, in its form; no layers where the message has another."""
    return json.dumps({"Layers": [*map(_layer, _LAYER.finditer(message))]})


def _layer(line: re.Match[str]) -> dict[str, object]:
    _, *parts = _PART.split(line["rest"])
    fields_by_name = dict(zip(parts[::2], parts[1::2], strict=True))
    return {
        "Name": line["Name"],
        "LayerType": line["LayerType"],
        "TacticName": fields_by_name.get("TacticName", ""),
        "Metadata": fields_by_name.get("Metadata", ""),
        **{
            side: [match.groupdict() for match in _TENSOR.finditer(fields_by_name.get(side, ""))]
            for side in ("Inputs", "Constants", "Outputs")
        },
    }


_NOT_SUPPORTED = re.compile(r"not supported|unsupported|HW-specific datatypes", re.IGNORECASE)
_OPERATION = re.compile(r"operation '([^'$]+)'")
# Without a driver each error is followed by one that says so, and nothing of the cause.
_NO_DRIVER = re.compile(r"catchCudaError.*cudaError 35\b")
_IN_SOURCES = (
    re.compile(r"\[?[\w./]+\.(cpp|h|cu|cc)(::\w+)*(::\d+|:\d+)(: ?\w+)?\]?:? ?"),
    re.compile(r"(IBuilder|IRuntime|I\w+)::\w+: |Error Code:? ?\d+: ?"),
    re.compile(r"Assertion failed: |Parameter check failed, condition: [^.]*\. "),
    re.compile(r"\.? In \w+ at (?=[)]|$)"),
)
# A condition in C++ that failed, with the words beside it: `creator && "Plugin not found"`.
_CONDITION = re.compile(r'.*&& "(.+)"')

_MOST_OPERATORS = 12
_MOST_NODES = 3


@dataclass(frozen=True, slots=True)
class ParserProblem:
    """One entry of the parser's list; `code` is the name that TensorRT gives the kind."""

    code: str
    node: str
    op: str
    text: str

    @property
    def unsupported(self) -> bool:
        """An operator that nobody can import is looked for among the plugins at last."""
        return self.code.startswith("UNSUPPORTED") or "Plugin not found" in self.text


class Log:
    """The errors that TensorRT reports beside its return values, of the step that is under way.

    Not every error ends what it happened in: a kernel that is tried and finds too little memory is
    passed over. So each step begins anew, and what ends one is judged by its own errors. `layers`
    is what a builder said of those of the engine that it has made.
    """

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.layers = ""

    def begin(self) -> None:
        """Another step: what was said before is over."""
        self.errors.clear()
        self.layers = ""

    def keep(self, message: str) -> None:
        if not _NO_DRIVER.search(message):
            self.errors.append(message)

    def fault(self, kind: type[RuntimeFault], problem: str, remedy: str) -> RuntimeFault:
        """`kind`, or what the errors tell of: OutOfMemory, Unsupported with the node at fault."""
        if any(map(tells_of_no_memory, self.errors)):
            return OutOfMemory(f"{problem}: the GPU's memory is too small", "use a smaller batch")
        reason = plain(self.errors[-1]) if self.errors else "no reason given"
        if kind is CompileFault and _NOT_SUPPORTED.search(reason):
            node = _OPERATION.search(reason)
            return Unsupported(f"{problem} ({reason})", remedy, node=node[1] if node else "")
        return kind(f"{problem} ({reason})", remedy)


@cache
def log_of(trt: ModuleType) -> Log:
    """A log that the package takes: its classes ask for one of its own ILogger.

    One for the process: TensorRT keeps the first that it is given for what no session owns.
    """

    class Listening(Log, trt.ILogger):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            Log.__init__(self)

        def log(self, severity: tensorrt.ILogger.Severity, msg: str) -> None:
            if severity in (trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR):
                self.keep(msg)
            elif msg.startswith(BEGIN):
                self.layers = msg

    return Listening()


def plain(text: str) -> str:
    """The line of TensorRT's message that tells the cause, without source positions and codes."""
    lines = text.strip().splitlines() or [""]
    # The parser names the node first, and then what the network said of it.
    line = lines[1] if len(lines) > 1 and lines[0].startswith("Invalid Node") else lines[0]
    for pattern in _IN_SOURCES:
        line = pattern.sub("", line)
    words = _CONDITION.fullmatch(line.strip())
    line = words[1] if words else line
    return line.strip().rstrip(".") or "no reason given"


def parser_fault(problems: Sequence[ParserProblem], log: Log) -> RuntimeFault:
    """What the parser's list says: all of its nodes by operator, the unsupported ones first."""
    if not problems:
        return log.fault(CompileFault, "TensorRT could not read the file", "check the file")
    unsupported_ops = [problem for problem in problems if problem.unsupported]
    other_problems = [problem for problem in problems if not problem.unsupported]
    problem_list = _list_problems([*unsupported_ops, *other_problems])
    if unsupported_ops:
        return Unsupported(
            f"TensorRT's parser does not take {problem_list}",
            "use another runtime, or another form of the operator",
            node=unsupported_ops[0].node,
        )
    return CompileFault(
        f"TensorRT's parser stopped at {problem_list}", "check the file and its axes"
    )


def _list_problems(problems: Iterable[ParserProblem]) -> str:
    """Each operator with its nodes and the reason of the first of them, as far as one can read."""
    by_operator: dict[str, list[ParserProblem]] = {}
    for problem in problems:
        by_operator.setdefault(problem.op, []).append(problem)
    told = [_operator_text(op, group) for op, group in by_operator.items()]
    left = len(told) - _MOST_OPERATORS
    more = f", and {left} more operators" if left > 0 else ""
    return ", ".join(told[:_MOST_OPERATORS]) + more


def _operator_text(op: str, problems: Sequence[ParserProblem]) -> str:
    # Where only a condition failed, its source text (`false`) is no reason.
    reason = f" ({problems[0].text})" if " " in problems[0].text else ""
    if not op:
        return f"the graph{reason}"
    nodes = ", ".join(repr(problem.node) for problem in problems[:_MOST_NODES])
    left = len(problems) - _MOST_NODES
    more = f" and {left} more" if left > 0 else ""
    return f"the {op} {'node' if len(problems) == 1 else 'nodes'} {nodes}{more}{reason}"


def run_fault(exception: Exception) -> RuntimeFault:
    """What a run raised, as OutOfMemory or RunFault; one of ours as it is."""
    if isinstance(exception, RuntimeFault):
        return exception
    if isinstance(exception, CudaError) and exception.code == OUT_OF_MEMORY:
        return OutOfMemory(f"{exception.memory} ran out in a run", "use a smaller batch")
    return RunFault(f"TensorRT failed in a run ({exception})", "see nvidia-smi")
