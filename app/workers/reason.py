"""Why a worker has no result, in words that help in the environment that it runs in."""

from __future__ import annotations

import os
import sys

from exporters import own
from exporters.types import GraphlapError
from runtimes.environment import remedy_in


def reason_of(error: GraphlapError) -> str:
    """The error's sentence; in another environment what it asks for is to be installed there."""
    return remedy_in(sys.executable, str(error)) if own.STARTER in os.environ else str(error)
