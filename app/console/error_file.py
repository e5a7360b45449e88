"""Why a batch process refused or broke off, cause and remedy apart, for who started it.

People read one sentence on standard error; nobody could part it again, since a cause may
hold a colon. So a parent that wants both names a file in the environment.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from exporters.types import GraphlapError

ERROR_FILE = "GRAPHLAP_ERROR_FILE"
"""The environment variable with the file's path; unset where nobody waits for it."""


def write_error_file(error: GraphlapError) -> None:
    """Tell the parent, if it asked; one that can't be told has the sentence in its log."""
    path = os.environ.get(ERROR_FILE)
    if path:
        with contextlib.suppress(OSError):
            fields = {"cause": error.cause, "remedy": error.remedy, "option": error.option}
            Path(path).write_text(json.dumps(fields), "utf-8")


def take_error_file(path: Path) -> GraphlapError | None:
    """What was written there, which is removed; None if nothing was."""
    try:
        fields = json.loads(path.read_text("utf-8"))
        path.unlink()
    except (OSError, ValueError):
        return None
    return GraphlapError(fields["cause"], fields["remedy"], fields["option"])
