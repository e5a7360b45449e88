"""Settings that exclude each other, in one table of predicate, code, message and action."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from app.cases.errors import PlanError
from app.cases.objectives import MINIMUM_ROUNDS
from app.cases.scenario import Condition, Scenario
from app.machine.installed_runtimes import grid_runtimes, runtime
from app.plan.plan import Plan
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS, by_key, default_of
from app.stats.required_rounds import FIRST_LOOK
from runtimes import registry
from runtimes.registry import environment_of, parse_spec


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`applies` gives what the `{}` of the message stands for, or True; '' or False where nothing
    is wrong."""

    code: str
    applies: Callable[[Plan], bool | str]
    message: str
    action: str
    typed: str = ""


class ExclusionError(PlanError):
    """A plan with settings that exclude each other, with the code of the exclusion."""

    def __init__(self, row: Exclusion, detail: bool | str) -> None:
        super().__init__(row.message.format(detail), row.action)
        self.code = row.code


def is_set(plan: Plan, key: str) -> bool:
    """Whether a plan, or one of its grids, has another value than the default."""
    setting = by_key()[key]
    if setting.scope == "command":
        return True
    parts = plan.sweeps if setting.scope == "sweep" else (plan,)
    return any(getattr(part, key) != default_of(setting) for part in parts)


def flag_of(key: str) -> str:
    return by_key()[key].flag


def pairs(
    first: str, *opponents: str, reason: str = "they measure different things"
) -> list[Exclusion]:
    """`first` with each of the others."""
    return [
        Exclusion(
            f"{first}_with_{opponent}",
            lambda plan, opponent=opponent: is_set(plan, first) and is_set(plan, opponent),  # type: ignore[misc]
            f"{flag_of(first)} cannot be used with {flag_of(opponent)}: {reason}",
            f"leave {flag_of(first)} or {flag_of(opponent)} out",
        )
        for opponent in opponents
    ]


def needs(key: str, *alternatives: str, action: str) -> Exclusion:
    """A setting that has no effect without one of the others."""
    flags = " or ".join(map(flag_of, alternatives))
    return Exclusion(
        f"{key}_without_{alternatives[0]}",
        lambda plan: (
            is_set(plan, key) and not any(is_set(plan, alternative) for alternative in alternatives)
        ),
        f"{flag_of(key)} needs {flags}",
        f"add {action}, or remove {flag_of(key)}",
    )


def few_rounds(key: str, reason: str, minimum: int = MINIMUM_ROUNDS) -> Exclusion:
    """A setting that takes more rounds than the plan has."""

    def applies(plan: Plan) -> str:
        has_few = plan.rounds is not None and plan.rounds < minimum
        return str(plan.rounds) if has_few and is_set(plan, key) else ""

    return Exclusion(
        f"few_rounds_with_{key}",
        applies,
        f"{flag_of(key)} {reason} from {minimum} rounds on and may have {{}}",
        f"give --rounds {minimum} or more, or none",
    )


def ineffective_setting(
    setting_key: str, code: str, applies: Callable[[Plan], bool], reason: str, action: str = ""
) -> Exclusion:
    """A typed setting without effect."""
    flag = flag_of(setting_key)
    return Exclusion(
        code, applies, f"{flag} has no effect: {reason}", action or f"remove {flag}", setting_key
    )


def reject_exclusions(plan: Plan) -> None:
    """PlanError for the first exclusion of a plan, wherever it was read from."""
    _reject(plan, (row for row in EXCLUSIONS if not row.typed))


def reject_without_effect(plan: Plan, typed_keys: Collection[str]) -> None:
    """PlanError for the first of the settings of a command line that does nothing in this plan."""
    _reject(plan, (r for r in EXCLUSIONS if r.typed in typed_keys and is_set(plan, r.typed)))


def _reject(plan: Plan, rows: Iterator[Exclusion]) -> None:
    for row in rows:
        detail = row.applies(plan)
        if detail:
            raise ExclusionError(row, detail)


def _with_shapes(key: str) -> Exclusion:
    """A setting that a session of several shapes can't have."""
    return Exclusion(
        f"{key}_with_shapes",
        lambda plan: _condition_of(("shapes",), plan) if is_set(plan, key) else "",
        f"{flag_of(key)} is of one shape, and {{}} gives several",
        f"remove {flag_of(key)}, or measure the shapes in a run of their own",
    )


def _scenarios(plan: Plan) -> list[Scenario]:
    return [Scenario.parse(text) for sweep in plan.sweeps for text in sweep.scenarios]


def _conditions(plan: Plan) -> list[Condition]:
    return [Condition.parse(text) for sweep in plan.sweeps for text in sweep.conditions]


def _environment_runtime(plan: Plan) -> str:
    """A runtime in an environment of this machine."""
    specs = (text for sweep in plan.sweeps for text in sweep.runtimes)
    return next(filter(environment_of, specs), "") if plan.cluster else ""


def _scenario_of_slo(plan: Plan) -> str:
    scenarios = (s.scenarios for s in plan.sweeps if s.scenarios != ("closed_loop",))
    return ", ".join(next(scenarios, ())) if plan.slo else ""


def _scenario_of_tune(plan: Plan) -> str:
    if not plan.tune or len(plan.sweeps) > 1:
        return ""
    first, *rest = _scenarios(plan)
    is_rate = plan.goal is not None and plan.goal.rate
    unfit = rest or first.is_open_loop or (is_rate and first.waits)
    return ", ".join(plan.sweeps[0].scenarios) if unfit else ""


def _open_loop(plan: Plan) -> str:
    return next((str(scenario) for scenario in _scenarios(plan) if scenario.is_open_loop), "")


def _condition_of(kinds: Collection[str], plan: Plan) -> str:
    return next((str(condition) for condition in _conditions(plan) if condition.kind in kinds), "")


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
    specs = {text for sweep in plan.sweeps for text in grid_runtimes(sweep.runtimes)}
    runtime_names = {parse_spec(text).name for text in specs} & set(registry.names())
    return not any(runtime(name).accelerator for name in runtime_names)


_ONE_MACHINE = "--cluster measures rounds on other machines, and this is done on one"
_LOOKS = "it adds rounds by the verdicts of cases that are measured in turn on one machine"
_BATCHER_REASON = "a batcher runs batches of several sizes"
_SINGLE_SHAPE_KEYS = (
    "largest_batch",
    "inputs",
    "rotate_inputs",
    "states",
    "cold_start",
    "profile_ops",
)
_CHECK_EXCLUSIONS = {
    r.key: r for r in (*SWEEP_SETTINGS, *PLAN_SETTINGS) if "check" not in r.commands
}

EXCLUSIONS: tuple[Exclusion, ...] = (
    # What a check reads is in the table of settings.
    *(
        Exclusion(
            f"{key}_with_check",
            lambda plan, key=key: plan.check and is_set(plan, key),  # type: ignore[misc]
            f"{row.flag} cannot be used with --check, which compiles and measures nothing",
            f"leave {row.flag} (the key {row.name}) out",
        )
        for key, row in _CHECK_EXCLUSIONS.items()
    ),
    *pairs("slo", "aa", "baseline", "largest_batch", "precise", "null"),
    *pairs("tune", "aa", "baseline", "largest_batch", "null", "precise", "slo"),
    *pairs("cold_start", "largest_batch", "slo", "tune"),
    *pairs("aa", "baseline", "largest_batch", "null", "precise"),
    *pairs("baseline", "largest_batch"),
    *pairs("null", "largest_batch"),
    *pairs("sequential", "precise", "cluster", reason=_LOOKS),
    *pairs("detect", "aa", "precise", "cluster", reason=_LOOKS),
    needs("sequential", "baseline", action="--baseline"),
    few_rounds("sequential", "looks at verdicts"),
    few_rounds("detect", "looks at verdicts"),
    few_rounds("slo", "judges rates by their intervals"),
    few_rounds("tune", "compares its answer in intervals"),
    few_rounds("precise", "looks at intervals", FIRST_LOOK),
    Exclusion(
        "detect_within_threshold",
        lambda plan: plan.detect is not None and plan.detect <= plan.band,
        "--detect is no larger than --threshold, and a change within the threshold counts as none",
        "give --detect a larger share, or --threshold a smaller one",
    ),
    *pairs("replicas", "tune", "slo", "largest_batch"),
    *pairs("precise", "largest_batch", reason="a search measures each size once"),
    *pairs("rotate_inputs", "largest_batch", reason="the search uses one set of inputs"),
    *pairs(
        "cluster", "largest_batch", "slo", "tune", "cold_start", "accuracy", reason=_ONE_MACHINE
    ),
    *pairs("batcher", *_SINGLE_SHAPE_KEYS, reason=_BATCHER_REASON),
    *(_with_shapes(key) for key in ("slo", *_SINGLE_SHAPE_KEYS)),
    needs("per_host", "cluster", action="--cluster"),
    needs("send_code", "cluster", action="--cluster"),
    needs("insecure_cluster", "cluster", action="--cluster"),
    needs("page_cache", "cold_start", action="--cold-start 20"),
    needs("max_error", "tune", action="--tune p99"),
    Exclusion(
        "environment_with_cluster",
        _environment_runtime,
        "{} is of an environment of this machine, and --cluster measures on others",
        "start the worker with the interpreter of that environment there",
    ),
    Exclusion(
        "scenario_with_slo",
        _scenario_of_slo,
        "--slo chooses its own rates, and the plan asks for {}",
        "remove --scenario",
    ),
    Exclusion(
        "condition_with_slo",
        lambda plan: _condition_of(("cold", "cold-l2", "sustained"), plan) if plan.slo else "",
        "--slo cannot be used with --condition {}",
        "remove --condition, or use with:MODEL",
    ),
    Exclusion(
        "batchers_with_slo",
        lambda plan: bool(plan.slo) and len({sweep.batcher for sweep in plan.sweeps}) > 1,
        "--slo searches every case with every batcher, and the grids have different ones",
        "give each grid the same batchers, or a plan of its own",
    ),
    Exclusion(
        "grids_with_tune",
        lambda plan: str(len(plan.sweeps)) if plan.tune and len(plan.sweeps) > 1 else "",
        "--tune searches one grid, and the plan has {}",
        "give --models, or a plan of one grid",
    ),
    Exclusion(
        "scenario_with_tune",
        _scenario_of_tune,
        "--tune compares rounds of one closed loop, and the plan asks for {}",
        "remove --scenario; for a latency, one such as paced:1ms is possible",
    ),
    *pairs("tune", "conditions", "batcher", reason="the search compares plain runs"),
    Exclusion(
        "max_error_without_verification",
        lambda plan: bool(plan.tune) and not plan.checked and plan.max_error is not None,
        "--max-error bounds outputs that are not compared",
        "remove --no-verify-outputs",
    ),
    Exclusion(
        "open_loop_with_null",
        lambda plan: _open_loop(plan) if plan.null else "",
        "--overhead cannot be used with {}: runs wait for those before them, so the difference is "
        "not the compute time",
        "remove --overhead, or use closed_loop or paced:GAP",
    ),
    Exclusion(
        "condition_with_largest_batch",
        lambda plan: plan.largest_batch and _conditions(plan) != [Condition()],
        "--largest-batch cannot be used with --condition",
        "remove --condition",
    ),
    Exclusion(
        "neighbour_with_realtime",
        lambda plan: _condition_of(("with",), plan) if plan.realtime is not None else "",
        "{} shares cores, and a real-time process gives none away",
        "remove --realtime",
    ),
    # What has no effect where a user typed it.
    ineffective_setting(
        "rounds",
        "rounds_with_largest_batch",
        lambda plan: plan.largest_batch,
        "a search for the largest batch tries each size once",
    ),
    ineffective_setting(
        "spread_s",
        "spread_with_search",
        lambda plan: plan.is_search,
        "a search takes its rounds where it needs them",
    ),
    ineffective_setting(
        "tolerance",
        "tolerance_without_verification",
        lambda plan: not plan.checked,
        "no outputs are compared",
        "leave out --tolerance or --no-verify-outputs",
    ),
    ineffective_setting(
        "wait_policy",
        "idle_policy_without_gaps",
        _never_pauses,
        "no scenario of the plan has gaps between runs",
        "remove --idle-policy, or add a scenario with gaps, such as --scenario paced:20us",
    ),
    *(
        ineffective_setting(
            key,
            f"{key}_of_queued_runs",
            _only_ahead,
            "runs that are queued ahead have no latency of their own",
        )
        for key in ("percentiles", "precise", "deadline_us")
    ),
    ineffective_setting(
        "seed",
        "seed_with_check",
        lambda plan: plan.check,
        "a check draws nothing and has no order of rounds",
    ),
    ineffective_setting(
        "calibration",
        "calibration_without_int8",
        _without_int8,
        "calibration samples are for int8, and no case has that precision",
        "add --precision int8, or remove --calibration",
    ),
    ineffective_setting(
        "input_range",
        "input_range_with_files",
        _draws_nothing,
        "the inputs come from a file and none is generated",
        "leave out --input-range or --inputs",
    ),
    ineffective_setting(
        "device_memory_limit",
        "device_memory_limit_without_device",
        _without_accelerator,
        "none of the runtimes has a device with memory of its own",
        "use --memory-limit for the host's memory",
    ),
    ineffective_setting(
        "sort",
        "sort_with_tune",
        lambda plan: bool(plan.tune),
        "a search over options prints its steps",
    ),
    ineffective_setting(
        "against",
        "against_with_tune",
        lambda plan: bool(plan.tune),
        "a search over options prints its steps",
        "remove --against, and compare the two runs afterwards",
    ),
)
