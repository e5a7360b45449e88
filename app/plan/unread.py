"""Options that a plan's other settings leave without effect: refused where a user typed them.

A suite, a profile or a plan file may bring such a key along for other modes: only what was given on
the command line is a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from app.cases.errors import PlanError
from app.cases.scenario import Scenario
from app.machine.available import grid_runtimes, runtime
from app.plan.plan import Plan
from runtimes import registry
from runtimes.registry import parse_spec


@dataclass(frozen=True, slots=True)
class _Unread:
    """A key of a plan, its `flag`, and whether the rest of the plan leaves it without effect."""

    key: str
    flag: str
    holds: Callable[[Plan], bool]
    why: str
    remedy: str = ""


def refuse_unread(plan: Plan, typed: Collection[str]) -> None:
    """PlanError for the first of the keys that the command line gave and that does nothing."""
    for rule in _RULES:
        if rule.key in typed and _differs(plan, rule.key) and rule.holds(plan):
            remedy = rule.remedy or f"Leave {rule.flag} out"
            raise PlanError(f"{rule.flag} has no effect: {rule.why}", remedy)


def _differs(plan: Plan, key: str) -> bool:
    """Whether a value is not the default, which says nothing however often it is repeated."""
    if key in type(plan).model_fields:
        default = type(plan).model_fields[key].get_default(call_default_factory=True)
        return bool(getattr(plan, key) != default)
    return any(
        getattr(sweep, key) != type(sweep).model_fields[key].get_default(call_default_factory=True)
        for sweep in plan.sweeps
    )


def _scenarios(plan: Plan) -> list[Scenario]:
    return [Scenario.parse(text) for sweep in plan.sweeps for text in sweep.scenarios]


def _never_pauses(plan: Plan) -> bool:
    return not plan.slo and not any(scenario.waits for scenario in _scenarios(plan))


def _only_ahead(plan: Plan) -> bool:
    return all(scenario.kind == "ahead" for scenario in _scenarios(plan))


def _without_int8(plan: Plan) -> bool:
    return all("int8" not in sweep.precisions for sweep in plan.sweeps)


def _draws_nothing(plan: Plan) -> bool:
    """Whether files give all inputs; samples for int8 are drawn too, unless a file has them."""
    return bool(plan.inputs) and (_without_int8(plan) or bool(plan.calibration))


def _without_accelerator(plan: Plan) -> bool:
    """What the machines of a cluster have is not known here."""
    if plan.cluster:
        return False
    named = {text for sweep in plan.sweeps for text in grid_runtimes(sweep.runtimes)}
    known = {parse_spec(text).name for text in named} & set(registry.names())
    return not any(runtime(name).accelerator for name in known)


_RULES = (
    _Unread(
        "rounds",
        "--rounds",
        lambda plan: plan.largest_batch,
        "a search for the largest batch tries each size once",
    ),
    _Unread(
        "spread_s",
        "--spread",
        lambda plan: plan.is_search or plan.check,
        "a search takes its rounds where it needs them, and a check has none",
    ),
    _Unread(
        "tolerance",
        "--tolerance",
        lambda plan: not plan.checked,
        "no outputs are compared",
        "Leave out --tolerance or --unchecked",
    ),
    _Unread(
        "wait_policy",
        "--wait",
        _never_pauses,
        "no scenario of the plan has gaps between runs",
        "Leave --wait out, or add a scenario with gaps, such as --scenario paced:20us",
    ),
    *(
        _Unread(
            key,
            f"--{key.removesuffix('_us')}",
            _only_ahead,
            "runs that are queued ahead have no latency of their own",
        )
        for key in ("percentiles", "precise", "deadline_us")
    ),
    _Unread(
        "seed",
        "--seed",
        lambda plan: plan.check,
        "a check draws nothing and has no order of rounds",
    ),
    _Unread(
        "calibration",
        "--calibration",
        _without_int8,
        "calibration samples are for int8, and no case has that precision",
        "Add --precision int8, or leave --calibration out",
    ),
    _Unread(
        "input_range",
        "--input-range",
        _draws_nothing,
        "the inputs come from a file and none is drawn",
        "Leave out --input-range or --inputs",
    ),
    _Unread(
        "device_memory_limit",
        "--device-memory-limit",
        _without_accelerator,
        "none of the runtimes has a device with memory of its own",
        "Use --memory-limit for the host's memory",
    ),
)
