"""The measuring process: `python -m app.workers.measure`, one round, one Python thread a lane."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from app.cases.round import MeasureJob, RoundResult
from app.workers.placing import take_place
from app.workers.round import measure_round
from app.workers.serve import StopRequest, serve
from app.workers.starting import limit_threads
from exporters.codec import from_json


def main() -> int:
    return serve(_round)


def _round(values: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> RoundResult:
    job = from_json(MeasureJob, values)
    limit_threads(job.settings.threads)
    return measure_round(job, tell, StopRequest(), take_place(job))


if __name__ == "__main__":
    sys.exit(main())
