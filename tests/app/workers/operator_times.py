"""Operator times from a real process, for the tests of it with and without a GPU."""

from __future__ import annotations

import os

from app.cases.case import Case
from app.cases.jobs import OperatorJob, OperatorTimes
from exporters.codec import from_json
from exporters.types import ExportedModel
from tests.processes import answer_of


def operator_times(model: ExportedModel, case: Case, **environment: str) -> OperatorTimes:
    """What the process tells; `environment` is given to it beside this one's own."""
    job = OperatorJob(case, model)
    result = answer_of("app.capabilities.operators.worker", job, env=os.environ | environment)
    assert result.pop("event") == "result"
    return from_json(OperatorTimes, result)
