"""The studies by name, each where it is written down; their plans lie in `assets/studies`."""

from __future__ import annotations

from app.cases.errors import PlanError, suggestion
from app.studies.study import Study, Whole
from exporters import own

STUDIES = {
    "char-cnn": "app.studies.char_cnn.whole:WHOLE",
    "char-cnn/ladder": "app.studies.char_cnn.ladder:STUDY",
    "char-cnn/steps": "app.studies.char_cnn.steps:STUDY",
    "dlmark": "app.studies.dlmark.whole:WHOLE",
    "dlmark/accuracy": "app.studies.dlmark.accuracy:STUDY",
    "dlmark/devices": "app.studies.dlmark.devices:STUDY",
    "dlmark/largest": "app.studies.dlmark.largest:STUDY",
    "dlmark/throughput": "app.studies.dlmark.throughput:STUDY",
    "neurio": "app.studies.neurio:STUDY",
    "vollo": "app.studies.vollo:STUDY",
}


def study(name: str) -> Study | Whole:
    """The study of this name; PlanError suggests the nearest."""
    if name not in STUDIES:
        raise PlanError(f"there is no study called {name!r}", suggestion(name, STUDIES))
    found: Study | Whole = own.load(STUDIES[name])
    return found
