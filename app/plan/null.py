"""The null twin of a case: the same in all but its graph, which computes next to nothing."""

from __future__ import annotations

from dataclasses import replace

from app.cases.case import Case
from exporters.twins import null_of


def null_case(case: Case) -> Case:
    """The twin of a model's case; its id is made as the case's own is."""
    return replace(case, model=null_of(case.model))
