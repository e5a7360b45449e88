"""The registered capabilities: what a setting adds to a run in addition to its cases.

Each is one line here. The rest of the program knows none by name: it asks the registry for
schedulers, follow-up jobs, answers and tables, whose modules are imported when they are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from app.cases.column import Row
from app.cases.errors import PlanError
from app.cases.status import Status
from app.comparison.measured_case import MeasuredCase
from app.plan.plan import Plan
from app.plan.settings.table import PLAN_SETTINGS
from app.present.document import Block
from app.present.figure import Figure
from app.run_folder.run import Run
from exporters import install_layout


class Answer(ABC):
    """The answer of a search to the question of its plan.

    `is_final`: it stands in place of the ranking of runtimes, and its own words state how complete
    it is. `replaces_rows`: medians of cases and warnings are not shown with it. `expected` are
    statuses that answer the question where they would be failures elsewhere.
    """

    is_final: ClassVar[bool] = True
    replaces_rows: ClassVar[bool] = False
    expected: ClassVar[frozenset[Status]] = frozenset()

    @property
    def exit_code(self) -> int | None:
        """The exit code in place of the rows' own; None where rows decide."""
        return None

    @abstractmethod
    def question(self, models: str, runtimes: str) -> str:
        """What the plan asks, as the title of a page."""

    @abstractmethod
    def tables(self) -> Iterator[Block]:
        """The answer, then its evidence."""

    def sentences(self) -> Iterator[str]:
        """The answer in a line for each model."""
        yield from ()

    def figures(self) -> Iterator[Figure]:
        """Pictures of the search."""
        yield from ()

    def evidence(self, cases: Sequence[MeasuredCase]) -> Iterator[Figure]:
        """Pictures of all cases at once."""
        yield from ()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Names in the run folder and what is in them."""
        yield from ()

    def complete(self) -> Answer:
        """With what is measured once the rounds are over."""
        return self


@dataclass(frozen=True, slots=True)
class Capability:
    """Parts of a capability, each `module:name` below `app`, empty where there is no such part.

    `plan_values` completes a plan, `rounds` schedules rounds in place of the grid, `follow_up` jobs
    after them. `answer` is what a run came to, `tables` are of what it recorded.
    """

    plan_values: str = ""
    rounds: str = ""
    follow_up: str = ""
    answer: str = ""
    tables: str = ""


CAPABILITIES = {
    "slo": Capability(
        rounds="sweep.scheduling.rate_search:HighestRate",
        answer="capabilities.slo_search.present:rate_answer",
    ),
    "tune": Capability(
        rounds="sweep.scheduling.option_search:Tuner",
        answer="capabilities.tuning.present:tune_answer",
    ),
    "largest_batch": Capability(
        plan_values="capabilities.largest_batch.search:with_memory_limit",
        rounds="sweep.scheduling.batch_search:scheduler_of",
        answer="capabilities.largest_batch.present:batch_answer",
    ),
    "cold_start": Capability(
        follow_up="sweep.scheduling.follow_up:cold_start_follow_up",
        tables="console.scenario_tables:cold_tables",
    ),
    "profile_ops": Capability(
        follow_up="sweep.scheduling.follow_up:operator_follow_up",
        tables="console.operators:operator_tables",
    ),
    "accuracy": Capability(follow_up="sweep.scheduling.follow_up:accuracy_follow_up"),
}
"""By the setting of a plan that asks for each, in the order in which follow-up jobs run."""


def complete_plan(plan: Plan) -> Plan:
    """The plan with the values that its capabilities add; PlanError for one that is not here."""
    for setting in PLAN_SETTINGS:
        is_here = not setting.is_capability or setting.key in CAPABILITIES
        if not is_here and getattr(plan, setting.key):
            raise PlanError(
                f"{setting.flag}: this installation can't do that (no capability {setting.key!r})",
                "remove it, or install a version that has it",
                setting.flag,
            )
    for complete in _parts("plan_values"):
        plan = complete(plan)
    return plan


def scheduler_part(plan: Plan) -> Callable[..., Any] | None:
    """Makes the scheduler of the plan's rounds; None where its grid is measured."""
    for key, capability in CAPABILITIES.items():
        if capability.rounds and getattr(plan, key):
            part: Callable[..., Any] = _load(capability.rounds)
            return part
    return None


def follow_up_parts() -> list[Callable[..., Any]]:
    """Each makes the follow-up jobs of a run, or None where the plan wants none."""
    return _parts("follow_up")


def answers(run: Run) -> tuple[Answer, ...]:
    """What the run came to, by each capability that its plan asks for."""
    candidates = (make(run) for make in _parts("answer"))
    return tuple(answer for answer in candidates if answer is not None)


def tables(run: Run, rows: Sequence[Row], width: int) -> Iterator[Block]:
    """Tables of what capabilities recorded, laid out for so many columns."""
    for make in _parts("tables"):
        yield from make(run, rows, width)


def _parts(name: str) -> list[Callable[..., Any]]:
    targets = (getattr(capability, name) for capability in CAPABILITIES.values())
    return [_load(target) for target in targets if target]


def _load(target: str) -> Any:
    return install_layout.load(f"app.{target}")
