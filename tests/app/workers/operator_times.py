"""Operator times from a real process, for the tests of it with and without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from app.cases.case import Case
from app.cases.jobs import OperatorJob, OperatorTimes
from exporters.codec import from_json, to_json
from exporters.types import ExportedModel


def operator_times(model: ExportedModel, case: Case, **environment: str) -> OperatorTimes:
    """What the process tells; `environment` is given to it beside this one's own."""
    process = subprocess.run(
        [sys.executable, "-m", "app.capabilities.operators.worker"],
        input=json.dumps(to_json(OperatorJob(case, model))) + "\n",
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(process.stdout.splitlines()[-1])
    assert result.pop("event") == "result"
    return from_json(OperatorTimes, result)
