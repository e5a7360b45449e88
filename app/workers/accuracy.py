"""The accuracy process: `python -m app.workers.accuracy`, one `AccuracyJob`, nothing timed.

A process of its own, as a round has one: engines crash, and what an image library leaves
behind must not share a process with a clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from app.cases.accuracy import AccuracyJob, AccuracyResult
from app.workers.assess import assess
from app.workers.reason import is_transient, reason_of
from app.workers.serve import serve
from exporters.codec import from_json


def main() -> int:
    return serve(answer)


def answer(values: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> AccuracyResult:
    """The result of the job in `values`; every failure is a result with its reason."""
    job = from_json(AccuracyJob, values)
    try:
        return assess(job, lambda images: tell({"event": "progress", "images": images}))
    except Exception as error:
        reason, transient = reason_of(error), is_transient(error)
        return AccuracyResult(job.subject.case_id, job.data, reason=reason, transient=transient)


if __name__ == "__main__":
    sys.exit(main())
