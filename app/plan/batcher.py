"""What a batcher can't be combined with, said of a grid before anything is written."""

from __future__ import annotations

from collections.abc import Mapping

from app.cases.batcher import NO_BATCHER
from app.cases.errors import PlanError
from app.cases.scenario import Scenario
from app.plan.plan import Plan, Sweep
from runtimes.options import SESSIONS

_OF_A_RUNTIME = (SESSIONS.name, "streams")
"""Options that make several lanes."""


def batched(plan: Plan, sweep: Sweep, batch_axes: Mapping[str, str | None]) -> Sweep:
    """The grid with batch 1 where it has a batcher; PlanError for what goes with none.

    `batch_axes` are those that the models leave open, None of a model that has none. A search for
    a rate begins without a batcher, and adds each of them to its rates.
    """
    batchers = [word for word in sweep.batcher if word != NO_BATCHER]
    if not batchers:
        return sweep
    told = f"--batcher {batchers[0]}"
    if not plan.slo:
        _refuse_arrivals(sweep, told)
    _refuse_options(sweep, told)
    without = next((model for model, axis in batch_axes.items() if axis is None), None)
    if without is not None:
        raise PlanError(
            f"{without} has no open batch axis, so {told} can't send its requests together",
            "name models whose batch is open, or remove --batcher",
        )
    sizes = {size for axis in batch_axes.values() for size in _asked(sweep, axis)} - {1}
    if sizes:
        raise PlanError(
            f"{told} collects requests of one input each, and the batch is {max(sizes)}",
            "remove --batch, or make it 1",
        )
    alone = {"batcher": (NO_BATCHER,)} if plan.slo else {}
    return sweep.model_copy(update={"batch_size": (1,), **alone})


def _asked(sweep: Sweep, axis: str | None) -> tuple[int, ...]:
    return (*sweep.batch_size, *sweep.axes.get(axis or "", ()))


def _refuse_arrivals(sweep: Sweep, told: str) -> None:
    for text in sweep.scenarios:
        if not Scenario.parse(text).is_open_loop:
            raise PlanError(
                f"{told} needs requests that arrive by themselves, and {text} waits for answers",
                "use --scenario rate:200/s, poisson:200/s or burst:8@10ms",
            )


def _refuse_options(sweep: Sweep, told: str) -> None:
    for key, values in sweep.options.items():
        name = key.partition(".")[2]
        if name in _OF_A_RUNTIME and any(str(value) != "1" for value in values):
            raise PlanError(f"{told} has one server, and {key} makes several", f"remove {key}")
