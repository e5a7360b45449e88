"""Programs in processes of their own, and what they print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from exporters.codec import to_json

Ended = subprocess.CompletedProcess[str]


def ended(*command: str | Path, check: bool = False, **settings: Any) -> Ended:
    """A command that has ended, with its output; `check` raises if its exit code is not 0."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **settings)


def python(*arguments: str | Path, check: bool = False, **settings: Any) -> Ended:
    """This interpreter with other arguments, once it has ended."""
    return ended(sys.executable, *arguments, check=check, **settings)


def answer_of(module: str, job: object, **settings: Any) -> dict[str, Any]:
    """The last line of a worker of ours that was given this job."""
    line = json.dumps(to_json(job)) + "\n"
    process = python("-m", module, check=True, input=line, **settings)
    answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answer
