"""What a plan for other machines can't ask of them, and what means nothing without them."""

from __future__ import annotations

from app.cases.errors import PlanError
from app.plan.plan import Plan
from runtimes.environment import environment_of

_OF_ONE_MACHINE = {
    "largest_batch": "--largest-batch",
    "slo": "--slo",
    "tune": "--tune",
    "cold_start": "--cold-start",
    "accuracy": "--accuracy",
}
_OF_A_CLUSTER = {
    "per_host": "--per-host",
    "send_code": "--send-code",
    "insecure_cluster": "--insecure-cluster",
}


def refuse_beside_cluster(plan: Plan) -> None:
    """PlanError for rounds on other machines beside what this machine alone does, and the other
    way round."""
    if not plan.cluster:
        for key, flag in _OF_A_CLUSTER.items():
            if getattr(plan, key):
                raise PlanError(f"{flag} is of other machines", "add --cluster, or leave it out")
        return
    for key, flag in _OF_ONE_MACHINE.items():
        if getattr(plan, key):
            raise PlanError(
                f"{flag} is for one machine, and --cluster measures rounds on others",
                f"leave one of them out, or use {flag} on each machine",
            )
    for text in (text for sweep in plan.sweeps for text in sweep.runtimes):
        if environment_of(text):
            raise PlanError(
                f"{text} is of an environment of this machine, and --cluster measures on others",
                "start the worker with the interpreter of that environment there",
            )
