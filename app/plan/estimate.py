"""Estimates for a draft in the editor: cases, duration, and model files that can't be read."""

from __future__ import annotations

import glob
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from app.cases.dimensions import GRID
from app.cases.scenario import Condition
from app.machine.installed_runtimes import grid_runtimes, runtime
from app.plan.expand import expand
from app.plan.models import Outlines, data_for
from app.plan.plan import Plan, named_lengths
from app.plan.settings.sweep import Sweep
from exporters.messages import OutlineRequest
from exporters.models import catalogue
from exporters.types import FILE_ENDINGS, GraphlapError, Precision
from runtimes import registry
from runtimes.registry import parse_spec


def model_faults(models: Iterable[str]) -> dict[str, GraphlapError]:
    """By the plan's word for them, a path or a glob, the first fault of the files that it names.

    Each file is read by a child process, with all that its weights need but themselves; a graph
    that is wrong beyond that is found by its export.
    """
    faults: dict[str, GraphlapError] = {}
    with Outlines() as outlines:
        for word in models:
            if not word.endswith(FILE_ENDINGS) or "\0" in word:
                continue
            paths = [word] if Path(word).is_file() else sorted(glob.glob(word, recursive=True))  # noqa: PTH207
            for path in paths:
                try:
                    outlines.outline_of(OutlineRequest(path, closely=True))
                except GraphlapError as error:
                    faults.setdefault(word, error)
    return faults


ASK_ABOVE = 1_000
"""A sweep of more cases is only started after a question."""

EXPAND_UP_TO = 5_000
PROCESS_START_S = 1.5
"""Import, compilation, first inference and teardown of one small model on one core."""
FORK_START_S = 0.6
"""The same without the import, of a round whose process is a fork."""
MODULE_EXPORT_S, FILE_EXPORT_S = 2.0, 0.5
"""Of a torch module and of a file that is only checked, two exports running at a time."""
CHECK_S = (0.2, 2.0)
"""Compiling a small network and a large one, two at a time."""
OPERATOR_RUNS_S = 2.0
"""The most that runs under an engine's profiler take; before them come two process starts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """`exact` says that the cases were expanded; seconds are from the profile's limits.

    Each case has `rounds`, or between as many and `maximum_rounds` where intervals decide.

    Of them the exports take `exports_s`, if none is in the cache. Operator times are counted by
    case, accuracies as the start of their process: how long labelled data take is not known before.
    A budget bounds the longest. `search` says that each case is only the first try of a search, of
    unknown length.
    """

    cases: int
    rounds: int
    shortest_s: float
    longest_s: float
    exact: bool
    search: bool = False
    exports_s: float = 0.0
    maximum_rounds: int = 0


def estimate(draft: Plan) -> Estimate:
    """The bound for a draft that need not be complete."""
    case_count = sum(_grid_cases(grid) for grid in draft.sweeps)
    return _estimate_of(draft, case_count * 2 if draft.null else case_count, exact=False)


def check_plan(draft: Plan, plan: Plan) -> Estimate:
    """The true count where it can be had quickly; PlanError for what can't be resolved."""
    bound = estimate(draft)
    if bound.cases > EXPAND_UP_TO:
        return bound
    return _estimate_of(draft, len(expand(plan)), exact=True)


def _estimate_of(draft: Plan, cases: int, exact: bool) -> Estimate:
    profile = named_lengths()[draft.profile]
    minimum_rounds = maximum_rounds = 1
    if not draft.is_search:
        minimum_rounds, maximum_rounds = draft.least_rounds, draft.lengths.rounds
    limits = profile.limits
    start_s = FORK_START_S if cases > 1 and _forks(draft) else PROCESS_START_S
    shortest = limits.min_s + limits.warmup_min_s + start_s
    longest = limits.max_s + limits.warmup_max_s + start_s
    first_s = cases * (PROCESS_START_S - start_s)
    exports_s = sum(map(_exports_s, {(m, p) for g in draft.sweeps for m, p in _exports_of(g)}))
    after_s = sum(_subjects(grid, draft.accuracy) for grid in draft.sweeps) * PROCESS_START_S
    if draft.check:
        short_s, long_s = (cases * seconds for seconds in CHECK_S)
        return Estimate(cases, 1, short_s, exports_s + long_s, exact, False, exports_s, 1)
    model_cases = cases // 2 if draft.null else cases
    if draft.profile_ops:
        after_s += model_cases * 2 * PROCESS_START_S
    if draft.cold_start is not None:
        after_s += model_cases * (draft.cold_start + 1) * PROCESS_START_S
    # Of cases that a longer condition has, on top of what every round takes.
    sustained_s = sum(map(_sustained_s, draft.sweeps))
    runs_s = model_cases * OPERATOR_RUNS_S if draft.profile_ops else 0.0
    budget_s = draft.budget_s or math.inf
    spreads_s = draft.lengths.spread_s, draft.lengths.contended_spread_s
    least_s, spread_s = (0.0, 0.0) if draft.is_search or not cases else spreads_s
    shortest_s = cases * minimum_rounds * shortest + minimum_rounds * sustained_s + first_s
    longest_s = cases * maximum_rounds * longest + maximum_rounds * sustained_s + first_s
    return Estimate(
        cases,
        minimum_rounds,
        min(budget_s, max(shortest_s, least_s) + after_s),
        min(budget_s, exports_s + max(longest_s, spread_s) + after_s + runs_s),
        exact,
        draft.is_search,
        exports_s,
        maximum_rounds,
    )


def _forks(draft: Plan) -> bool:
    """Whether rounds after the first have no imports: those of our own environment, on the host."""
    specs = [parse_spec(spec) for grid in draft.sweeps for spec in grid_runtimes(grid.runtimes)]
    known = [spec for spec in specs if spec.name in registry.names()]
    return not any(spec.release or runtime(spec.name).accelerator for spec in known)


def _exports_of(grid: Sweep) -> Iterator[tuple[str, Precision]]:
    """What is exported: each model once in each precision, neighbours among them."""
    neighbours = filter(None, (Condition.parse(word).model for word in grid.conditions))
    yield from product((*grid.models, *neighbours), grid.precisions)


def _exports_s(export: tuple[str, Precision]) -> float:
    model, _ = export
    return FILE_EXPORT_S if model.endswith(FILE_ENDINGS) else MODULE_EXPORT_S


def _grid_cases(grid: Sweep) -> int:
    models = sum(_axis_points(grid, name) for name in grid.models)
    settings = math.prod(len(getattr(grid, dimension.key)) for dimension in GRID)
    return models * _per_runtime(grid) * settings


def _sustained_s(grid: Sweep) -> float:
    """What a round of each of the grid's cases takes for their conditions."""
    lasting_s = sum(Condition.parse(word).seconds for word in grid.conditions)
    return _grid_cases(grid) / len(grid.conditions) * lasting_s


def _subjects(grid: Sweep, labelled_data: str) -> int:
    """How many accuracies there are: one for all batches, threads and scenarios of a model."""
    at_one_batch = grid.model_copy(update={"batch_size": ()})
    labelled_models = [name for name in grid.models if data_for(name, labelled_data)]
    models = sum(_axis_points(at_one_batch, name) for name in labelled_models)
    return models * _per_runtime(grid) * len(grid.precisions)


def _per_runtime(grid: Sweep) -> int:
    runtimes = grid_runtimes(grid.runtimes)
    replicas = len({1, *grid.replicas})  # over several devices one is measured on the first
    return replicas * sum(_option_sets(grid, parse_spec(text).name) for text in runtimes)


def _axis_points(grid: Sweep, model: str) -> int:
    """Points of one model's axes; a file's axes are taken to be those that the grid names."""
    try:
        axes = set(catalogue.find(model).axes)
    except GraphlapError:
        axes = {"batch", "sequence", *grid.axes}
    sizes = {"batch": grid.batch_size, "sequence": grid.sequence_length, **grid.axes}
    return math.prod(len(values) or 1 for axis, values in sizes.items() if axis in axes)


def _option_sets(grid: Sweep, runtime: str) -> int:
    return math.prod(len(v) for key, v in grid.options.items() if key.partition(".")[0] == runtime)
