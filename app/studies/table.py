"""The studies by name, each where it is written down; their plans lie in `assets/studies`."""

from __future__ import annotations

from app.cases.errors import PlanError, suggestion
from app.studies.study import Study, Whole
from exporters import own

STUDIES = {
    "char-cnn/ladder": "app.studies.char_cnn.ladder:STUDY",
    "char-cnn/operators": "app.studies.char_cnn.operators:STUDY",
    "char-cnn/steps": "app.studies.char_cnn.steps:STUDY",
    "dlmark/accuracy": "app.studies.dlmark.accuracy:STUDY",
    "dlmark/devices": "app.studies.dlmark.devices:STUDY",
    "dlmark/largest": "app.studies.dlmark.largest:STUDY",
    "dlmark/throughput": "app.studies.dlmark.throughput:STUDY",
    "neurio": "app.studies.neurio:STUDY",
    "vollo": "app.studies.vollo:STUDY",
}
"""Those of one plan, parts of others among them."""
WHOLES = {
    "char-cnn": "app.studies.char_cnn.whole:WHOLE",
    "dlmark": "app.studies.dlmark.whole:WHOLE",
}


def study(name: str) -> Study:
    """The study of one plan of this name; PlanError suggests the nearest of all."""
    if name not in STUDIES:
        raise PlanError(f"there is no study called {name!r}", suggestion(name, (*WHOLES, *STUDIES)))
    found: Study = own.load(STUDIES[name])
    return found


def whole(name: str) -> Whole | None:
    """The study of several plans of this name; None where there is none."""
    found: Whole | None = own.load(WHOLES[name]) if name in WHOLES else None
    return found
