"""OpenVINO's messages in the words and statuses of ours."""

from __future__ import annotations

import re

from runtimes.faults import CompileFault, OutOfMemory, RunFault, RuntimeFault, Unsupported
from runtimes.memory_words import tells_of_no_memory

_NO_OPERATOR = re.compile(r"No conversion rule found for operations: (?P<ops>.+)")
_NO_MODEL = re.compile(r"Unable to read the model")
_NODE = re.compile(r"<Node\([^)]*\): (?P<onnx>[^>]*)>|friendly_name '(?P<own>[^']*)'")
_PASS = re.compile(r"\[(?P<name>\w+)\] END: node: \S+ (?P<node>\S+) \(")
"""A step of the engine's own, and the node of the graph that it failed at."""
# Lines that say where in the engine's source it happened, or only announce the next one.
_FRAME = re.compile(
    r"Exception from |Check '|While validating|FrontEnd API|Loading input|Model wasn't"
    r"|Summary|Shape inference|-- "
)


def compile_fault(error: Exception) -> RuntimeFault:
    """What reading or compiling raised, as Unsupported, OutOfMemory or CompileFault."""
    text = str(error)
    if tells_of_no_memory(error):
        return OutOfMemory("OpenVINO ran out of memory", "use a smaller batch or model")
    if match := _NO_OPERATOR.search(text):
        return Unsupported(
            f"OpenVINO does not know the operator {match['ops']}", "use another runtime"
        )
    if _NO_MODEL.search(text):
        return CompileFault("OpenVINO cannot read the file as an ONNX model", "check the file")
    if match := _PASS.search(text):
        return CompileFault(
            f"OpenVINO failed in its own {match['name']} at node {match['node']!r}{_said(text)}",
            "measure it in another precision, or on another runtime",
        )
    return CompileFault(f"OpenVINO refused the graph{_told(text)}", "check the file and its axes")


def run_fault(error: Exception) -> RuntimeFault:
    """What a run raised, as OutOfMemory or RunFault, the node named where the engine does."""
    text = str(error)
    if tells_of_no_memory(error):
        return OutOfMemory("OpenVINO ran out of memory in a run", "use a smaller batch")
    return RunFault(
        f"OpenVINO failed{_told(text)}", "check the axes and the inputs it was given (--inputs)"
    )


def _told(text: str) -> str:
    """The node at fault, where one is named, and the engine's last sentence."""
    node = _NODE.search(text)
    where = f" in node {(node['onnx'] or node['own'])!r}" if node else ""
    return where + _said(text)


def _said(text: str) -> str:
    said = [line.strip() for line in text.splitlines() if line.strip() and not _FRAME.match(line)]
    return f" ({said[-1]})" if said else ""
