"""Cases of a sweep over models, runtimes and batch sizes, labelled as their run would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from app.cases.case import Case
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.synthetic import series


def grid(
    models: Sequence[str],
    runtimes: Sequence[str] = ("ort-cpu",),
    batches: Sequence[int] = (1,),
    *,
    finished: bool = False,
) -> list[Series]:
    """A case for each, its key `model/runtime/batch`; they differ in their latency."""
    cells = []
    for place, (model, runtime, batch) in enumerate(product(models, runtimes, batches)):
        clock: Clock = "simulated" if runtime.startswith("fpga") else "wall"
        case_series = series(
            runtime,
            model,
            key=f"{model}/{runtime}/{batch}",
            median_us=20.0 + 5.0 * place,
            count=400,
            rounds=3,
            warmup=20,
            seed=place + 1,
            clock=clock,
            finished=finished,
        )
        case = Case(model, runtime, axes={"batch": batch})
        cells.append(replace(case_series, case=case, label=f"{model} · {runtime} · batch {batch}"))
    return cells


def many(count: int, *, finished: bool = False) -> list[Series]:
    """So many cases of one model on one runtime."""
    return grid(("mlp",), batches=range(1, count + 1), finished=finished)
