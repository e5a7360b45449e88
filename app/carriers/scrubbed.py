"""The environment of a host's worker: that of the agent without what a launcher says of threads.

Dask's nanny, Slurm and MPI tell each process of theirs to compute in one thread, or where to. A
measuring process that heard them would not compute as one that a user starts at his shell does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_OF_LAUNCHERS = (
    "BLIS_",
    "GOMP_",
    "KMP_",
    "MALLOC_",
    "MKL_",
    "NUMEXPR_",
    "OMP_",
    "OPENBLAS_",
    "VECLIB_",
)


def scrubbed(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What is left of it."""
    return {name: text for name, text in environ.items() if not name.startswith(_OF_LAUNCHERS)}
