"""Limits of the operating system that a test sets for itself."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """No file that is written meanwhile may grow beyond `size_bytes`.

    Python keeps a .pyc file that was cut off at the limit, and every later import of that module
    fails; so none is written meanwhile.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
