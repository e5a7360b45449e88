"""How engines, CUDA's libraries and the system say that memory was too small: one list for all."""

from __future__ import annotations

import re

_WORDS = re.compile(
    r"out[ _]?of[ _]?memory|bad_alloc|alloc_failed|CUDNN_STATUS_NOT_INITIALIZED|BFCArena"
    r"|(?:can't|cannot|could not|unable to|failed to) allocate",
    re.IGNORECASE,
)


def tells_of_no_memory(said: Exception | str) -> bool:
    """Whether it is memory, the host's or a device's, that was too small."""
    return isinstance(said, MemoryError) or bool(_WORDS.search(str(said)))
