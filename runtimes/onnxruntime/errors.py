"""ONNX Runtime's exceptions in the words and statuses of ours."""

from __future__ import annotations

import re

from exporters.types import first_line, missing_locale
from runtimes.errors import (
    CompileFault,
    OutOfMemory,
    RunFault,
    RuntimeFault,
    Unsupported,
    tells_of_no_memory,
)

_NO_KERNEL = re.compile(
    r"Could not find an implementation for (?P<op>\S+) node with name '(?P<node>[^']*)'"
)
_NO_OPERATOR = re.compile(
    r"No Op registered for (?P<op>\S+)|error: (?P<custom>\S+) is not a registered"
)
_INVALID_NODE = re.compile(r'In Node, \("(?P<node>[^"]*)"')
_NEWER_OPSET = re.compile(r"(?P<what>Opset \d+) is under development")
_NEWER_IR = re.compile(
    r"Unsupported model IR version: (?P<file>\d+), max supported IR version: (?P<newest>\d+)"
)
_NO_CAPTURE = "cannot use the graph capture feature"
# "CUDNN_FE failure 11: CUDNN_BACKEND_API_FAILED ; GPU=0 ; hostname=..." of a library's call, and
# "CUDA error cudaErrorNoKernelImageForDevice:no kernel image is available ..." after a kernel.
_GPU = re.compile(
    r"(?P<library>[A-Z_]+) (failure (?P<number>-?\d+)|error:? (?P<name>cudaError\w+)): ?"
    r"(?P<text>[^;\n]*[^;\s])"
)
_NO_IMAGE = ("209", "cudaErrorNoKernelImageForDevice")
_NODE = re.compile(r"[Nn]ode \((?P<paren>[^)]*)\)|Name:'(?P<name>[^']*)'")


class LaterIrVersion(Unsupported):
    """A file of IR version `version`, for a release that opens none later than `newest`."""

    def __init__(self, version: int, newest: int) -> None:
        super().__init__(
            f"the file's IR version {version} is newer than this ONNX Runtime, which opens up to "
            f"{newest}",
            "export it at an older opset, or update onnxruntime",
        )
        self.of_file, self.newest = version, newest


def plain(error: Exception) -> str:
    """The engine's sentence."""
    return first_line(error).rstrip(".")


def _gpu_words(failure: re.Match[str], where: str = "") -> tuple[str, str]:
    """The cause and what helps."""
    code = failure["number"] or failure["name"]
    cause = f"the GPU failed ({failure['library']} error {code}: {failure['text']}){where}"
    if code in _NO_IMAGE:
        return cause, "install an onnxruntime-gpu that was built for this GPU"
    return cause, "look for the GPU in the output of nvidia-smi and in the kernel's log"


def compile_fault(error: Exception) -> RuntimeFault:
    """What session creation raised, as Unsupported, OutOfMemory or CompileFault."""
    text = str(error)
    if tells_of_no_memory(error):
        return OutOfMemory("ONNX Runtime ran out of memory", "use a smaller batch or model")
    if match := _GPU.search(text):
        return CompileFault(*_gpu_words(match))
    if _NO_CAPTURE in text:
        return Unsupported(
            "ONNX Runtime cannot record this graph as a CUDA graph, because parts of it run "
            "elsewhere or are control flow",
            "set cuda_graph=0",
        )
    if match := _NO_KERNEL.search(text):
        return Unsupported(
            f"ONNX Runtime has no kernel for {match['op']} in node {match['node']!r}",
            "use another runtime, or another type for its inputs",
            node=match["node"],
        )
    if match := _NO_OPERATOR.search(text):
        node = _INVALID_NODE.search(text)
        return Unsupported(
            f"ONNX Runtime does not know the operator {match['op'] or match['custom']}"
            + (f" of node {node['node']!r}" if node else ""),
            "give --custom-ops the library that has it, or use another runtime",
            node=node["node"] if node else "",
        )
    if lacking := missing_locale(error):
        return Unsupported(*lacking)
    if match := _NEWER_OPSET.search(text):
        return Unsupported(
            f"the file's {match['what']} is newer than this ONNX Runtime",
            "export it at an older opset, or update onnxruntime",
        )
    if match := _NEWER_IR.search(text):
        return LaterIrVersion(int(match["file"]), int(match["newest"]))
    return CompileFault(
        f"ONNX Runtime refused the graph ({plain(error)})", "check the file and its axes"
    )


def run_fault(error: Exception) -> RuntimeFault:
    """What a run raised, as OutOfMemory or RunFault, the node named where the engine does."""
    text = str(error)
    if tells_of_no_memory(error):
        return OutOfMemory("ONNX Runtime ran out of memory in a run", "use a smaller batch")
    match = _NODE.search(text)
    node = match and (match["paren"] or match["name"])
    where = f" in node {node!r}" if node else ""
    if failure := _GPU.search(text):
        return RunFault(*_gpu_words(failure, where))
    return RunFault(
        f"ONNX Runtime failed{where} ({plain(error)})",
        "check the axes and the inputs it was given (--inputs)",
    )
