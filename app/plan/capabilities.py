"""The kinds of work, and the registered capabilities: what a setting adds to a run's cases.

Each is one line here. The rest of the program knows none by name: it asks the registry for its
parts, whose modules are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.cases.errors import PlanError
from app.plan.plan import Plan
from app.plan.settings.table import PLAN_SETTINGS
from exporters import install_layout


@dataclass(frozen=True, slots=True)
class Capability:
    """Parts of a capability, each `module:name` below `app`, empty where there is no such part.

    `plan_values` completes a plan, `rounds` schedules rounds in place of the grid, `follow_up` jobs
    after them. `answer` is what a run came to, `tables` are of what it recorded. `found` reads
    `found_file` of a run folder, while the run goes on too; `view` is a view of the window. Its
    work of a `kind` is done by a process of the module `worker`; `doing` is said meanwhile.
    """

    plan_values: str = ""
    rounds: str = ""
    follow_up: str = ""
    answer: str = ""
    tables: str = ""
    found_file: str = ""
    found: str = ""
    view: str = ""
    kind: str = ""
    worker: str = ""
    doing: str = ""


CAPABILITIES = {
    "slo": Capability(
        rounds="capabilities.slo_search.rounds:HighestRate",
        answer="capabilities.slo_search.present:rate_answer",
        found_file="rates.json",
        found="capabilities.slo_search.answer:found_rates",
    ),
    "tune": Capability(
        rounds="capabilities.tuning.rounds:Tuner",
        answer="capabilities.tuning.present:tune_answer",
        found_file="tune.json",
        found="capabilities.tuning.present:found_steps",
        view="capabilities.tuning.present:StepsView",
    ),
    "largest_batch": Capability(
        plan_values="capabilities.largest_batch.search:with_memory_limit",
        rounds="capabilities.largest_batch.rounds:scheduler_of",
        answer="capabilities.largest_batch.present:batch_answer",
        view="capabilities.largest_batch.present:LargestBatchView",
    ),
    "cold_start": Capability(
        follow_up="capabilities.cold_start.follow_up:cold_start_follow_up",
        tables="capabilities.cold_start.present:cold_tables",
        kind="cold_start",
        worker="capabilities.cold_start.worker",
        doing="measuring cold starts",
    ),
    "profile_ops": Capability(
        follow_up="capabilities.operators.follow_up:operator_follow_up",
        tables="capabilities.operators.present:operator_tables",
        kind="operators",
        worker="capabilities.operators.worker",
        doing="timing operators",
    ),
    "accuracy": Capability(
        follow_up="capabilities.accuracy.follow_up:accuracy_follow_up",
        kind="accuracy",
        worker="capabilities.accuracy.worker",
        doing="measuring the accuracy",
    ),
    "sensitivity": Capability(
        follow_up="capabilities.sensitivity.follow_up:sensitivity_follow_up",
        kind="sensitivity",
        worker="capabilities.sensitivity.worker",
        doing="doubling what was assumed",
    ),
}
"""By the setting of a plan that asks for each, in the order in which follow-up jobs run."""


@dataclass(frozen=True, slots=True)
class WorkKind:
    """The module that its processes run, and what is said while they do."""

    module: str
    doing: str


KINDS = {
    "export": WorkKind("exporters.worker", "exporting"),
    "round": WorkKind("app.workers.measure", "measuring"),
    "check": WorkKind("app.workers.checking", "compiling"),
    **{
        entry.kind: WorkKind(f"app.{entry.worker}", entry.doing)
        for entry in CAPABILITIES.values()
        if entry.kind
    },
}
"""The kinds of work that have processes of their own."""


def complete_plan(plan: Plan) -> Plan:
    """The plan with the values that its capabilities add; PlanError for one that is not here."""
    for setting in PLAN_SETTINGS:
        is_here = not setting.is_capability or setting.key in CAPABILITIES
        value = getattr(plan, setting.key)
        if not is_here and value and value != Plan.model_fields[setting.key].default:
            raise PlanError(
                f"{setting.flag}: this installation can't do that (no capability {setting.key!r})",
                "remove it, or install a version that has it",
                setting.flag,
            )
    for complete in parts("plan_values"):
        plan = complete(plan)
    return plan


def scheduler_part(plan: Plan) -> Callable[..., Any] | None:
    """Makes the scheduler of the plan's rounds; None where its grid is measured."""
    for key, target in named_parts("rounds"):
        if getattr(plan, key):
            part: Callable[..., Any] = install_layout.load(f"app.{target}")
            return part
    return None


def parts(name: str) -> list[Any]:
    """The parts of this name, of every capability that has one."""
    return [install_layout.load(f"app.{target}") for _, target in named_parts(name)]


def named_parts(name: str) -> list[tuple[str, str]]:
    """The settings of the capabilities with a part of this name, and `module:name` of it."""
    targets = ((key, getattr(entry, name)) for key, entry in CAPABILITIES.items())
    return [(key, target) for key, target in targets if target]
