"""What a plan may ask of cold starts, said before anything is written."""

from __future__ import annotations

import os

from app.cases.errors import PlanError
from app.plan.plan import Plan


def refuse_cold_start(plan: Plan) -> None:
    """PlanError for a page cache without cold starts, one that can't be dropped here, and for a
    search, whose cases are found only while it runs."""
    if plan.cold_start is None:
        if plan.page_cache != "warm":
            raise PlanError(
                "the page cache is dropped before cold starts, and none are asked for",
                "add --cold-start 20, or leave --page-cache out",
            )
        return
    for search in ("largest_batch", "slo"):
        if getattr(plan, search):
            raise PlanError(f"cold_start and {search} ask for different runs", "give one of them")
    if plan.page_cache == "dropped" and not hasattr(os, "posix_fadvise"):
        raise PlanError(
            "this system drops no single file from its page cache", "leave --page-cache out"
        )
