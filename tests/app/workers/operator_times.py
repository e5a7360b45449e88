"""Operator times from a real process, for the tests of it with and without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from app.cases.case import Case
from app.cases.operators import OpProfile, ProfileRequest
from exporters.types import ExportedModel


def operator_times(model: ExportedModel, case: Case, **environment: str) -> OpProfile:
    """What the process tells; `environment` is given to it beside this one's own."""
    done = subprocess.run(
        [sys.executable, "-m", "app.workers.operators"],
        input=json.dumps(ProfileRequest(case, model).to_json()) + "\n",
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert result.pop("event") == "result"
    return OpProfile.from_json(result)
