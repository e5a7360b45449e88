"""Which module of ours each kind of child process runs."""

from __future__ import annotations

from collections.abc import Mapping

MODULES: Mapping[str, str] = {
    "export": "exporters.worker",
    "round": "app.workers.measure",
    "check": "app.workers.checking",
    "accuracy": "app.workers.accuracy",
    "cold_start": "app.workers.cold",
    "operators": "app.workers.operators",
}
"""What each kind of worker runs."""
