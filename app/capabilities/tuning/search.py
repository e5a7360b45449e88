"""The search over options: a run's rounds give what is measured next and what was found.

what was found. Pure functions of the run, for who measures and for all who show it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from app.cases.case import Case
from app.cases.objectives import Goal
from app.cases.round import RoundResult
from app.formatting.text import one_line
from app.plan.models import batch_axis
from app.plan.plan import Plan
from app.plan.runtime_options import space_of
from app.run_folder.run import Run
from app.stats.option_search.ablation import FINAL, Ladder, final_blocks, ladder, path_to
from app.stats.option_search.search import Block, Search
from app.stats.option_search.space import Space
from app.stats.quantiles import order_statistic
from runtimes.execution import Samples


@dataclass(slots=True)
class RunFigures:
    """What the rounds of a run told, each read once; lower costs are better: microseconds of a
    latency, or for each input. Outputs may be off by `max_error`, None for what the first round
    of `base` was allowed."""

    goal: Goal
    base: Case
    max_error: float | None
    run: Run
    _costs: dict[tuple[str, int], float | None] = field(default_factory=dict)
    _latencies: dict[tuple[str, int], float] = field(default_factory=dict)

    def has(self, case: Case, number: int) -> bool:
        """Whether this round is over and counts."""
        result = self.run.rounds.get(case.case_id, {}).get(number)
        return result is not None and result.status != "cancelled"

    def cost(self, case: Case, number: int) -> float | None:
        key = case.case_id, number
        if key not in self._costs:
            if not self.has(case, number):
                return None
            self._costs[key] = self._cost(case, self.run.rounds[case.case_id][number])
        return self._costs[key]

    def exclusion_reason(self, case: Case, stop: int) -> str:
        rounds = self.run.rounds.get(case.case_id, {})
        results = [rounds[n] for n in sorted(rounds) if n < stop and self.has(case, n)]
        for result in results:
            if result.status != "ok":
                return f"{result.status.replace('_', ' ')}: {one_line(result.reason)}"
            error, tolerance = self.error(case), self.allowed
            if error is not None and tolerance is not None and error > tolerance:
                return f"its outputs are off by {error:.2g}, and {tolerance:.2g} is allowed"
        bound = self.goal.constraint
        if bound is not None and results:
            late = self._typical(case, [result.round for result in results])
            if late is not None and late > bound.limit_us:
                return f"it does not keep {bound}"
        return ""

    def fails(self, case: Case, stop: int) -> bool:
        rounds = self.run.rounds.get(case.case_id, {})
        return any(self.cost(case, n) is None for n in rounds if n < stop and self.has(case, n))

    @property
    def allowed(self) -> float | None:
        """How far off outputs may be; None where nothing is compared."""
        if self.max_error is not None:
            return self.max_error
        check = next((r.check for r in self.run.rounds_of(self.base) if r.check), None)
        return None if check is None else check.tolerance

    def error(self, case: Case) -> float | None:
        """How far off they are, of the largest; None where nothing was compared."""
        checks = [result.check for result in self.run.rounds_of(case) if result.check]
        return max((check.max_rel_error for check in checks), default=None)

    def kept_us(self, case: Case) -> float | None:
        """The latency that the goal bounds, of a typical round."""
        return self._typical(case, self.run.rounds.get(case.case_id, {}))

    def _typical(self, case: Case, numbers: object) -> float | None:
        latencies = [
            self._latencies[case.case_id, number]
            for number in numbers  # type: ignore[attr-defined]
            if self.cost(case, number) is not None and (case.case_id, number) in self._latencies
        ]
        return math.exp(float(np.mean(np.log(latencies)))) if latencies else None

    def _cost(self, case: Case, result: RoundResult) -> float | None:
        if not result.samples or not result.iterations:
            return None
        samples = self.run.samples_of(result)
        if self.goal.constraint is not None:
            quantile = self.goal.constraint.percentile
            share = None if quantile is None else quantile / 100
            self._latencies[case.case_id, result.round] = _figure_us(samples, share)
        if self.goal.rate:
            inputs = result.concurrency * _batch(self.run, case)
            return _figure_us(samples, None) / inputs
        return _figure_us(samples, self.goal.quantile)


@dataclass(frozen=True, slots=True)
class Tuned:
    """One search so far. `following` is the round to measure next, None when it is over.

    `found` is its ladder, of the final rounds that there are; None before the first. `shown`:
    the winner is shown to be better than the default. `tried` counts configurations, `left_out`
    why some could not win. `compared` is how many rounds each block of the final comparison has,
    were the choosing over now. `lead_cost` is that of `lead` so far, `lead_gain` how many times
    less than the default's in the rounds that both have, by which it was chosen; None without any.
    """

    space: Space
    lead: Case
    final: bool
    following: tuple[Case, int] | None
    ladder: Ladder | None
    tried: int
    rounds: int
    left_out: Mapping[str, str]
    errors: Mapping[str, float | None]
    kept_us: Mapping[str, float | None]
    compared: int
    lead_cost: float | None = None
    lead_gain: float | None = None

    @property
    def is_proven(self) -> bool:
        if self.ladder is None:
            return False
        verdict = self.ladder.winner.default
        return verdict is not None and verdict.word == "faster"

    @property
    def choice(self) -> Case:
        """What is to be used: the winner where it is shown to be one, or the default has no figure,
        else the default."""
        is_default_missing = self.ladder is not None and self.ladder.steps[0].cost is None
        return self.lead if self.is_proven or is_default_missing else self.space.base


@dataclass(slots=True)
class Tuning:
    """A search of one model: `of` tells how far a run has come with it."""

    space: Space
    plan: Plan
    goal: Goal
    _figures: RunFigures | None = None

    def of(self, run: Run, hurry: bool = False) -> Tuned:
        """`hurry` ends the choosing where it stands and goes on to the final rounds; once they
        have begun it does not go back."""
        if self._figures is None or self._figures.run is not run:
            self._figures = RunFigures(self.goal, self.space.base, self.plan.max_error, run)
        figures = self._figures
        search = Search(self.space, figures, self.plan.seed or 0)
        in_final = hurry or any(number >= FINAL for number in run.rounds.get(self._id, {}))
        cases: dict[str, Case] = {self._id: self.space.base}
        for block in search.blocks():
            cases |= {case.case_id: case for case, _ in block}
            missing = _missing(block, figures)
            if missing is not None and not in_final:
                return self._build_state(search, figures, cases, None, missing)
            if missing is not None:
                break
        path = path_to(self.space, search.lead, figures)
        most = self.plan.lengths.rounds
        following = None
        block_count = 0
        for block in final_blocks(path, search.rival, most, self.plan.seed or 0, figures):
            cases |= {case.case_id: case for case, _ in block}
            following = _missing(block, figures)
            if following is not None:
                break
            block_count += 1
        final_ladder = (
            ladder(path, search.rival, figures, most, self.plan.band) if block_count else None
        )
        return self._build_state(search, figures, cases, final_ladder, following, final=True)

    @property
    def _id(self) -> str:
        return self.space.base.case_id

    def _build_state(
        self,
        search: Search,
        figures: RunFigures,
        cases: Mapping[str, Case],
        final_ladder: Ladder | None,
        following: tuple[Case, int] | None,
        final: bool = False,
    ) -> Tuned:
        run = figures.run
        measured = {case_id: case for case_id, case in cases.items() if run.rounds.get(case_id)}
        exclusions = {
            case_id: figures.exclusion_reason(case, 2 * FINAL) for case_id, case in measured.items()
        }
        ladder_cases = [] if final_ladder is None else [step.case for step in final_ladder.steps]
        if final_ladder is not None and final_ladder.rival is not None:
            ladder_cases.append(final_ladder.rival)
        return Tuned(
            self.space,
            search.lead,
            final,
            following,
            final_ladder,
            len(measured),
            sum(len(run.rounds[case_id]) for case_id in measured),
            {case_id: reason for case_id, reason in exclusions.items() if reason},
            {case.case_id: figures.error(case) for case in ladder_cases},
            {case.case_id: figures.kept_us(case) for case in ladder_cases}
            if self.goal.constraint
            else {},
            len(self.space.steps_between(self.space.base, search.lead)) + 2 + bool(search.rival),
            *_lead_cost_and_gain(figures, search.lead, self.space.base),
        )


def tunings(run: Run) -> list[Tuning]:
    """A search for each case of a plan that asks for them; none of another plan."""
    plan = run.manifest.requested_plan
    goal = plan.goal
    if goal is None:
        return []
    return [
        Tuning(space_of(plan, case, batch_axis(case.model, case.given) or ""), plan, goal)
        for case in run.manifest.cases
    ]


def _lead_cost_and_gain(
    figures: RunFigures, lead: Case, base: Case
) -> tuple[float | None, float | None]:
    """The cost of a case, and how many times less it is than another's in the same rounds."""
    numbers = figures.run.rounds.get(lead.case_id, {})
    costs = {n: cost for n in numbers if (cost := figures.cost(lead, n))}
    log_ratios = [
        math.log(base_cost / costs[n]) for n in costs if (base_cost := figures.cost(base, n))
    ]
    typical = math.exp(float(np.mean(np.log(list(costs.values()))))) if costs else None
    return typical, math.exp(float(np.mean(log_ratios))) if log_ratios else None


def _missing(block: Block, figures: RunFigures) -> tuple[Case, int] | None:
    return next(((case, number) for case, number in block if not figures.has(case, number)), None)


def _batch(run: Run, case: Case) -> int:
    """How many inputs a run has; 1 of a model that has no batch."""
    model = run.model_of(case)
    if model is None:
        return 1
    size = (
        model.at(case.axes).axes.get(model.batch) if isinstance(model.batch, str) else model.batch
    )
    return size or 1


def _figure_us(samples: Samples, quantile: float | None) -> float:
    """The mean of a round's latencies, or their order statistic."""
    start_ns = samples.scheduled_ns if samples.from_schedule else samples.started_ns
    latencies_us = (samples.finished_ns - start_ns) / 1e3
    if quantile is None:
        return float(latencies_us.mean())
    return order_statistic(np.sort(latencies_us), quantile)
