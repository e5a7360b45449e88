"""The null twin of a case: the same in all but its graph, which computes next to nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.cases.case import Case
from app.cases.errors import PlanError
from exporters.twins import null_of


def null_case(case: Case) -> Case:
    """The twin of a model's case; its id is made as the case's own is."""
    return replace(case, model=null_of(case.model))


def refuse_open_loop(cases: Iterable[Case]) -> None:
    """PlanError where latency holds a wait for others: no difference of two is a compute."""
    for case in cases:
        if case.scenario.is_open_loop:
            raise PlanError(
                f"in {case.scenario} runs wait for those before them, so that a model minus its "
                "null twin is not its compute",
                "leave --overhead out, or take closed_loop or paced:GAP",
            )
