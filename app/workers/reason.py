"""Why a worker has no result, in words that help in the environment that it runs in."""

from __future__ import annotations

import os
import sys
import traceback

from exporters import own
from exporters.complaint import is_of_system, named
from exporters.types import GraphlapError
from runtimes.environment import remedy_in


def reason_of(error: Exception) -> str:
    """The error's sentence; in another environment what it asks for is to be installed there."""
    if not isinstance(error, GraphlapError):
        return unforeseen(error)
    return remedy_in(sys.executable, str(error)) if own.STARTER in os.environ else str(error)


def is_transient(error: Exception) -> bool:
    """Whether circumstances led to the error: another try may succeed where nothing was changed."""
    return isinstance(error, MemoryError) or is_of_system(error)


def unforeseen(error: Exception) -> str:
    """The type and the first line of an error that is none of ours; all of it on standard error."""
    traceback.print_exception(error, file=sys.stderr)
    return named(error)
