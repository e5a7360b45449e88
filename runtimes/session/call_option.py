"""The option `call`: whether the loop in C or Python's times a runtime's runs."""

from __future__ import annotations

from exporters import own
from runtimes.calls.timed import built
from runtimes.faults import Unsupported
from runtimes.options import Option

CALL = Option(
    "call",
    "auto",
    "which loop times the runs: c, python, or auto, which is c where it was built",
    ("auto", "c", "python"),
    tuned=False,
)


def takes_c(call: str) -> bool:
    """Whether the loop in C is to time; Unsupported where it must and was not built."""
    if call == "c" and not built():
        raise Unsupported("the loop in C was not built", own.COMPILER_REMEDY)
    return call != "python" and built()
