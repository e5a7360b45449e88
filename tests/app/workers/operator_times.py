"""Operator times from a real process, for the tests of it with and without a GPU."""

from __future__ import annotations

import json
import os

from app.cases.case import Case
from app.cases.jobs import OperatorJob, OperatorTimes
from exporters.codec import from_json, to_json
from exporters.types import ExportedModel
from tests.processes import python


def operator_times(model: ExportedModel, case: Case, **environment: str) -> OperatorTimes:
    """What the process tells; `environment` is given to it beside this one's own."""
    process = python(
        "-m",
        "app.capabilities.operators.worker",
        check=True,
        input=json.dumps(to_json(OperatorJob(case, model))) + "\n",
        env=os.environ | environment,
    )
    result = json.loads(process.stdout.splitlines()[-1])
    assert result.pop("event") == "result"
    return from_json(OperatorTimes, result)
