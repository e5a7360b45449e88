"""Jobs of rounds, made of a case and its exported model, or the reason why there can be none."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from app.cases.case import Case
from app.cases.jobs import settings_of
from app.cases.round import Limits, MeasureJob, NeighbourJob, RoundResult
from app.cases.scenario import Condition
from app.cases.status import Status
from app.cases.user_files import UserFiles
from app.machine import installed_runtimes
from app.machine.installed_runtimes import (
    availability_of,
    check_availability_of,
    options_of,
    runtime,
    runtime_of,
)
from app.machine.placement import listed, usable_cores
from app.plan.models import batch_axis
from app.plan.plan import EMPTY, Plan
from app.run_folder.folder import samples_name
from app.sweep.scheduling.round_budget import Budget, Spread
from app.sweep.work.base import CPU, SIMULATING, Needs
from app.sweep.work.export import DraftWork, ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply, ExportRequest
from exporters.size import parse_size
from exporters.types import ExportedModel, Precision, axes_key
from runtimes.base import Available, Runtime, Unavailable
from runtimes.errors import RuntimeFault, Unsupported
from runtimes.options import SESSIONS, Settings, all_options, sessions_of
from runtimes.registry import parse_spec
from runtimes.session.session_group import cores_near, options_on, refuse_sessions


def points(case: Case, model: ExportedModel | None = None) -> Iterator[Mapping[str, int]]:
    """The axes of all shapes and batches that a case runs, its own first; of a model that was not
    exported its outline tells which axis is the batch."""
    if case.condition.points:
        yield from ({**case.axes, **point} for point in case.condition.points)
        return
    yield case.axes
    if case.batcher is not None:
        axis = batch_axis(case.model, case.given) if model is None else model.batch
        for size in case.batcher.sizes:
            if isinstance(axis, str) and size != case.axes.get(axis):
                yield {**case.axes, axis: size}


def batches(case: Case, model: ExportedModel) -> tuple[ExportedModel, ...]:
    """The model at each batch of the case's batcher, ascending; () without one.

    Unsupported for a model whose inputs can't be sent together, and for a card without a clock.
    """
    if case.batcher is None:
        return ()
    axis = model.batch
    if not isinstance(axis, str):
        raise Unsupported(f"{case.model} has no open batch axis", "remove --batcher")
    if model.states:
        raise Unsupported(
            f"{case.model} hands its state from run to run, and a batch holds requests of several "
            "streams",
            "remove --batcher",
        )
    if runtime(parse_spec(case.runtime).name).clock == "simulated":
        raise Unsupported(
            f"{case.runtime} has no server to wait for: its schedule knows runs of one batch",
            "remove --batcher",
        )
    return tuple(model.at({**case.axes, axis: size}) for size in case.batcher.sizes)


def condition_obstacle(condition: Condition, runtime: Runtime, device: str = "") -> str:
    """Why no round of the runtime can be under the condition, in one sentence; empty if it can."""
    if condition.kind == "with" and len(runtime.devices_in(device)) > 1:
        return f"a neighbour is one session on one device, and {runtime.name}:{device} is several"
    if condition.kind == "none" or runtime.clock != "simulated":
        return ""
    if condition.kind == "shapes":
        return f"{runtime.name} is compiled for one shape: remove --condition"
    return f"a simulated card is as fast under {condition}: remove --condition"


def shapes_of(case: Case, model: ExportedModel, sessions: int) -> tuple[Mapping[str, int], ...]:
    """All axes of each shape that one session of the case serves; () where it has one shape.

    Unsupported for a model that can't be in one session at several shapes, and for several lanes.
    """
    points, condition_text = case.condition.points, str(case.condition)
    if not points:
        return ()
    if model.fixed:
        raise Unsupported(
            f"{case.model} could only be exported for each size by itself, and "
            f"{condition_text} needs one "
            "graph for all",
            "remove --condition",
        )
    if model.states:
        raise Unsupported(
            f"{case.model} hands its state from run to run, and under {condition_text} "
            "the next run has "
            "another shape",
            "remove --condition",
        )
    if sessions != 1 or case.options.get("streams", 1) != 1:
        raise Unsupported(
            f"{condition_text} is served by one session, one run at a time",
            "use one session and one stream",
        )
    return tuple(model.at({**case.axes, **point}).axes for point in points)


def limits_under(condition: Condition, limits: Limits) -> Limits:
    """A sustained round ends with its time, however many samples it has by then."""
    if condition.kind != "sustained":
        return limits
    return replace(limits, min_s=condition.seconds, max_s=condition.seconds, min_samples=1)


def neighbour_case(case: Case) -> Case | None:
    """The neighbour's model at its own sizes, as something to export; None without one."""
    if case.condition.kind != "with":
        return None
    user_files = UserFiles(custom_ops=case.given.custom_ops)
    return Case(case.condition.model, case.runtime, case.precision, given=user_files)


def neighbour_job(
    case: Case, settings: Settings, neighbour_reply: ExportReply | None
) -> NeighbourJob | None:
    """What the neighbour's process is told: as the case is compiled, but in one session."""
    if neighbour_reply is None or neighbour_reply.model is None:
        return None
    options = {name: value for name, value in settings.options.items() if name != SESSIONS.name}
    return NeighbourJob(
        neighbour_reply.model.at({}), case.runtime, replace(settings, options=options)
    )


ModelKey = tuple[str, Precision]

ROUND_OVERHEAD_S = 2.0
"""A first guess of what starting, compiling and warming up take."""

PROCESS_LIMIT_S = 600.0
"""Where no limit is given: the largest networks take minutes on a busy machine."""
_MINIMUM_EXPORT_LIMIT_S = 30.0
"""An export that imports torch first takes ten seconds of a machine that does nothing else."""

ARRIVALS = "arrivals"
"""Names the requests of open loops that all cases of a round share."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a sweep is: the cases, how long each is measured, and the `plan` that asks for it.

    `budget` bounds the whole run. `spread` says when passes over the cases may begin, and arrivals
    are drawn from `arrivals_seed`. `exported` is what models became elsewhere: of a share, all of
    them.
    """

    cases: Sequence[Case]
    rounds: int
    limits: Limits
    time_limit_s: float
    seed: int
    samples_folder: Path
    plan: Plan = EMPTY
    budget: Budget = field(default_factory=Budget)
    spread: Spread = field(default_factory=Spread)
    arrivals_seed: int = 0
    exported: Mapping[ModelKey, ExportReply] = field(default_factory=dict)

    @property
    def memory_limit_bytes(self) -> int:
        """What a measuring process may hold of the host's memory, and an export for its model; 0
        for no limit."""
        return parse_size(self.plan.memory_limit) if self.plan.memory_limit else 0

    @property
    def compile_limit_s(self) -> float:
        """When compiling in a round is ended."""
        return self.plan.time_limit_s or PROCESS_LIMIT_S

    @property
    def export_limit_s(self) -> float:
        return max(self.compile_limit_s, _MINIMUM_EXPORT_LIMIT_S)


def exclusive_needs(engine: Runtime, device: str) -> frozenset[str]:
    """What a process of the runtime on this device, or these, needs of this machine for itself."""
    if not engine.accelerator:
        return frozenset({CPU})
    return frozenset({CPU, *(f"{engine.accelerator}:{d or 0}" for d in engine.devices_in(device))})


class RoundRefused(Exception):
    """A round can't be measured, as is known without a process: its status, and the reason."""

    def __init__(self, status: Status, reason: str, transient: bool = False) -> None:
        super().__init__(reason)
        self.status, self.transient = status, transient


def round_work(
    schedule: Schedule,
    case: Case,
    number: int,
    reply: ExportReply,
    neighbour_reply: ExportReply | None = None,
    arrivals: str = ARRIVALS,
    awaits_reference: bool = False,
) -> RoundWork | SettledRound:
    """One round; settled if what is known now ends the case without a process.

    `neighbour_reply` is the export of the neighbour's model, for a case that has one. `arrivals`
    names the requests that an open loop meets: rounds of one number and the same name meet the
    same. With `awaits_reference` the reply has no expected outputs yet.
    """
    try:
        job = _round_job(schedule, case, number, reply, neighbour_reply)
    except RoundRefused as refusal:
        status, reason = refusal.status, str(refusal)
        return settled_round(schedule, case, number, status, reason, refusal.transient)
    engine = runtime_of(case.runtime, schedule.plan.environments)
    device = parse_spec(case.runtime).device
    return RoundWork(
        replace(
            job,
            arrivals_seed=round_seed(schedule.arrivals_seed, arrivals, number),
            awaits_reference=awaits_reference,
            is_reusable=engine.clock == "simulated"
            and not awaits_reference
            and not schedule.memory_limit_bytes,
        ),
        schedule.time_limit_s + case.condition.seconds,
        SIMULATING if engine.clock == "simulated" else Needs(exclusive_needs(engine, device)),
        schedule.memory_limit_bytes,
        schedule.compile_limit_s,
    )


def _round_job(
    schedule: Schedule,
    case: Case,
    number: int,
    reply: ExportReply,
    neighbour_reply: ExportReply | None,
) -> MeasureJob:
    """What the measuring process gets; RoundRefused where it could not measure."""
    spec, engine = parse_spec(case.runtime), runtime_of(case.runtime, schedule.plan.environments)
    exported_model = _usable_model(case, reply, engine)
    settings = settings_of(case, str(installed_runtimes.folder()))
    model = exported_model.at({**case.axes, **next(iter(case.condition.points), {})})
    try:
        refuse_sessions(engine, model, model.axes, settings)
        sessions = sessions_of(options_on(engine, spec.device), case.options)
        batch_models = batches(case, exported_model)
        shapes = shapes_of(case, exported_model, sessions)
    except RuntimeFault as fault:
        raise RoundRefused(as_status(fault.status), str(fault)) from fault
    if neighbour_reply is not None and neighbour_reply.model is None:
        raise RoundRefused(
            as_status(neighbour_reply.status),
            f"the neighbour {case.condition.model}: {neighbour_reply.reason}",
            neighbour_reply.transient,
        )
    neighbour = neighbour_job(case, settings, neighbour_reply)
    at_once = sessions + (neighbour is not None)
    cores = case.threads * at_once + spare_cores(engine) if case.threads else 0
    near, chosen = near_device(engine, spec.device, usable_cores()), schedule.plan.chosen_cores
    return MeasureJob(
        case=case,
        round=number,
        model=model,
        axes=model.axes,
        settings=settings,
        limits=limits_under(case.condition, schedule.limits),
        seed=round_seed(schedule.seed, case.case_id, number),
        samples_path=str(schedule.samples_folder / samples_name(case.case_id, number)),
        asked=schedule.plan,
        affinity=chosen or cores_for(cores, near),
        # The batch process has left those that were chosen, if there are others.
        shared=bool(chosen) and not usable_cores().isdisjoint(chosen),
        batches=batch_models,
        neighbour=neighbour,
        shapes=shapes,
    )


def _usable_model(case: Case, reply: ExportReply, engine: Runtime) -> ExportedModel:
    """The exported model, if it came and fits at all sizes of the case."""
    if reply.model is None:
        raise RoundRefused(as_status(reply.status), reply.reason, reply.transient)
    if reason := condition_obstacle(case.condition, engine, parse_spec(case.runtime).device):
        raise RoundRefused("unsupported", reason)
    sizes = tuple(points(case, reply.model))
    # Outputs of several sizes in one session are compared together.
    module = engine.engine if len(sizes) == 1 else ""
    if reason := next(filter(None, (unfit(reply.model, axes, module) for axes in sizes)), ""):
        raise RoundRefused("export_failed", reason)
    return reply.model


def unfit(model: ExportedModel, axes: Mapping[str, int], engine: str) -> str:
    """Why a model is not run at these sizes by an engine, named by its module; "" where it is.

    What no reference takes, each engine tries for itself, where there are inputs for it.
    """
    at_point = model.at(axes)
    return "" if engine and axes_key(at_point.axes) in model.references else at_point.unfit_at


def models_of(
    case_points: Iterable[tuple[Case, Iterable[Mapping[str, int]]]],
) -> list[tuple[Case, list[Mapping[str, int]]]]:
    """Each model once, by the first case that has it, with all the points that its cases want."""
    models: dict[ModelKey, tuple[Case, dict[str, Mapping[str, int]]]] = {}
    for case, points in case_points:
        _, points_by_key = models.setdefault((case.model, case.precision), (case, {}))
        for point in points:
            points_by_key.setdefault(axes_key(point), point)
    return [(case, list(points_by_key.values())) for case, points_by_key in models.values()]


def export_request(case: Case, points: Sequence[Mapping[str, int]], checked: bool) -> ExportRequest:
    """Of a case's model with inputs, and if `checked` expected outputs, at `points`."""
    return ExportRequest(
        case.model, case.precision, tuple(points), checked=checked, **case.given.request
    )


def model_export(
    schedule: Schedule,
    case: Case,
    points: Sequence[Mapping[str, int]],
    checked: bool | None = None,
) -> ExportWork:
    """The export of a case's model at `points` within the limits of a sweep, checked if that is."""
    request = export_request(case, points, schedule.plan.checked if checked is None else checked)
    work = ExportWork(request, schedule.export_limit_s, schedule.memory_limit_bytes)
    work.budget_ends_s = schedule.budget.ends_s
    return work


def draft_export(schedule: Schedule, case: Case, points: Sequence[Mapping[str, int]]) -> DraftWork:
    """The export of a case's model with inputs alone."""
    return DraftWork(export_request(case, points, checked=False), schedule.export_limit_s)


def null_export(
    schedule: Schedule, case: Case, points: Sequence[Mapping[str, int]], original: ExportedModel
) -> ExportWork:
    """The null twin of a model that has been exported, for a case that measures it."""
    request = ExportRequest(case.model, case.precision, tuple(points), null_of=original)
    work = ExportWork(request, schedule.export_limit_s, schedule.memory_limit_bytes)
    work.budget_ends_s = schedule.budget.ends_s
    return work


def settled_round(
    schedule: Schedule,
    case: Case,
    number: int,
    status: Status,
    reason: str,
    transient: bool = False,
) -> SettledRound:
    """A round that ended before it began."""
    state = availability_of(case.runtime, schedule.plan.environments)
    result = RoundResult(
        case_id=case.case_id,
        round=number,
        status=status,
        reason=reason,
        started_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        runtime_version=state.version if isinstance(state, Available) else "",
        options=all_options(options_of(case.runtime), case.options),
        transient=transient,
    )
    return SettledRound(case, result)


def early_refusal(schedule: Schedule, case: Case, check: bool = False) -> tuple[Status, str] | None:
    """What is known of a case before anything is exported, of one that is to run or to `check`."""
    check_availability = check_availability_of if check else availability_of
    state = check_availability(case.runtime, schedule.plan.environments)
    if isinstance(state, Unavailable):
        return "unavailable", f"{state.reason}: {state.remedy}"
    return precision_refusal(case)


def precision_refusal(case: Case) -> tuple[Status, str] | None:
    """Whether its runtime has nothing for the precision of a case, on any machine."""
    try:
        runtime(parse_spec(case.runtime).name).refuse_precision(case.precision)
    except RuntimeFault as fault:
        return as_status(fault.status), str(fault)
    return None


def round_seed(seed: int, subject: str, number: int) -> int:
    """A 63-bit seed of one round's case or of what its cases share, the same on every host."""
    digest = hashlib.sha256(f"{seed}:{subject}:{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def cores_for(threads: int, usable: Collection[int]) -> tuple[int, ...]:
    """The last `threads` cores, so that the parent has another; () lets the system choose."""
    cores = sorted(usable)
    return tuple(cores[-threads:]) if 0 < threads < len(cores) else ()


def spare_cores(engine: Runtime) -> int:
    """How many cores a runtime's process has beside its threads: a driver has threads of its own,
    and one that waits for its device by asking would keep them from the only core."""
    return 2 if engine.accelerator else 0


def near_device(engine: Runtime, device: str, usable: set[int]) -> set[int]:
    """Of the usable cores those of the devices' own nodes of memory, or all where none is told."""
    core_list = cores_near(engine, device) if engine.accelerator else ""
    return usable & set(listed(core_list)) or usable if core_list else usable


def as_status(text: str) -> Status:
    """That of a reply or a fault; `run_failed` where it has none."""
    return text or "run_failed"  # type: ignore[return-value]
