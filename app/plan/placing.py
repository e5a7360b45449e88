"""What a plan says of cores and priority, refused where this machine can't or should not do it."""

from __future__ import annotations

import os

from app.cases.errors import PlanError
from app.machine.cores import as_list, cores_online, usable_cores
from app.plan.plan import Plan


def refuse_misplaced(plan: Plan) -> None:
    """PlanError for cores that are not there or not allowed, or a priority that could hang all.

    A real-time loop that spins gives its core to nobody, so one core is left to everybody else.
    """
    cores = set(plan.chosen_cores)
    if cores and not hasattr(os, "sched_setaffinity"):
        raise PlanError("this system keeps no process to cores", "remove --cores")
    usable, online = usable_cores(), cores_online()
    if cores - online:
        raise PlanError(
            f"core {as_list(cores - online)} is not there",
            f"choose among {as_list(usable)}",
        )
    if cores - usable:
        raise PlanError(
            f"core {as_list(cores - usable)} is not allowed to this process (taskset, a cpuset)",
            f"choose among {as_list(usable)}, or allow it",
        )
    if plan.page_cache == "dropped" and not hasattr(os, "posix_fadvise"):
        raise PlanError(
            "this system drops no single file from its page cache", "remove --page-cache"
        )
    if plan.realtime is None:
        return
    if not hasattr(os, "sched_setscheduler"):
        raise PlanError("this system has no SCHED_FIFO", "remove --realtime")
    if not cores:
        raise PlanError(
            "--realtime could take every core, and hang the machine",
            "give --cores, and leave at least one core to everything else",
        )
    if cores == usable:
        raise PlanError(
            f"--realtime on all of the cores ({as_list(usable)}) could hang the machine",
            "leave at least one out of --cores",
        )
