"""What the CUDA driver raises while a session is made, in the words and statuses of ours."""

from __future__ import annotations

from runtimes.cuda.driver import OUT_OF_MEMORY, CudaError
from runtimes.faults import CompileFault, OutOfMemory, RuntimeFault


def compile_fault(error: CudaError) -> RuntimeFault:
    """OutOfMemory with which memory it was, or CompileFault."""
    if error.code == OUT_OF_MEMORY:
        return OutOfMemory(f"{error.memory} is too small ({error})", "use a smaller batch")
    return CompileFault(f"the CUDA driver failed ({error})", "see nvidia-smi")
