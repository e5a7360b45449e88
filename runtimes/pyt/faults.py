"""What torch raises, in the words and statuses of ours."""

from __future__ import annotations

from exporters.complaint import first_line
from runtimes.faults import OutOfMemory, RunFault, RuntimeFault
from runtimes.memory_words import tells_of_no_memory


def run_fault(error: Exception) -> RuntimeFault:
    """What a run raised, as OutOfMemory or RunFault; one of ours as it is."""
    if isinstance(error, RuntimeFault):
        return error
    if tells_of_no_memory(error):
        return OutOfMemory("PyTorch ran out of memory in a run", "use a smaller batch")
    return RunFault(f"the torch module failed in a run ({plain(error)})")


def plain(error: Exception) -> str:
    """The sentence that matters: torch's compiler wraps it in one of its own."""
    return first_line(getattr(error, "inner_exception", error))
