"""What the figures of dlmark's study share: its networks by batch size and device, as cells and as
points."""

from __future__ import annotations

from app.cases.case import Case
from app.results import text
from app.results.measured import Measured
from app.studies.found import Found, figure
from app.studies.pictures import Points

RATE, MEMORY = "throughput_per_s", "rss_peak_mib"
_BATCH = "batch"


def models(found: Found) -> list[str]:
    """Those of the run, in the plan's order."""
    return list(dict.fromkeys(one.case.model for one in found.measured))


def runtimes(found: Found) -> list[str]:
    return list(dict.fromkeys(one.case.runtime for one in found.measured))


def batches(found: Found) -> list[int]:
    """The batch sizes of the run, ascending."""
    return sorted({batch_of(one.case) for one in found.measured})


def batch_of(case: Case) -> int:
    return case.axes.get(_BATCH, 1)


def at(found: Found, model: str, batch: int, runtime: str = "") -> Measured | None:
    """The case of a network at a batch size, on the one runtime of the run or on this one."""
    return found.one(
        lambda case: (
            case.model == model and batch_of(case) == batch and runtime in ("", case.runtime)
        )
    )


def over_batch(found: Found, model: str, column: str, runtime: str = "") -> Points:
    """(batch, figure, in words) of what was measured, ascending."""
    told = ((batch, figure(at(found, model, batch, runtime), column)) for batch in batches(found))
    return tuple(
        (float(batch), value, f"{model} at batch {batch}: {text.significant(value)}")
        for batch, value in told
        if value is not None
    )


def percent(share: float | None) -> str:
    """Of a share from 0 to 1."""
    return text.NOT_MEASURED if share is None else f"{100 * share:.2f} %"


def mib(value: float | None) -> str:
    """Of MiB, without the unit."""
    return text.NOT_MEASURED if value is None else f"{value:,.0f}"
