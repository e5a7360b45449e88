"""Which of a plan's own .onnx files can't be read: told before a run, whose rows would say so."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from app.plan.outlines import Outlines
from exporters.files.outline_request import OutlineRequest
from exporters.types import FILE_ENDINGS, GraphlapError


def unreadable(models: Iterable[str]) -> dict[str, GraphlapError]:
    """By the plan's word for them, a path or a glob, the first fault of the files that it names.

    Each file is read by a child process, with all that its weights need but themselves; a graph
    that is wrong beyond that is found by its export.
    """
    faults: dict[str, GraphlapError] = {}
    with Outlines() as outlines:
        for word in models:
            if not word.endswith(FILE_ENDINGS) or "\0" in word:
                continue
            named = [word] if Path(word).is_file() else sorted(glob.glob(word, recursive=True))  # noqa: PTH207
            for path in named:
                try:
                    outlines.of(OutlineRequest(path, closely=True))
                except GraphlapError as error:
                    faults.setdefault(word, error)
    return faults
