"""The studies by name, each where it is written down; their plans lie in `assets/studies`."""

from __future__ import annotations

from app.cases.errors import PlanError, suggestion
from app.studies.study import Study
from exporters import own

STUDIES = {
    "neurio": "app.studies.neurio:STUDY",
    "vollo": "app.studies.vollo:STUDY",
}


def study(name: str) -> Study:
    """The study of this name; PlanError suggests the nearest."""
    if name not in STUDIES:
        raise PlanError(f"there is no study called {name!r}", suggestion(name, STUDIES))
    found: Study = own.load(STUDIES[name])
    return found
