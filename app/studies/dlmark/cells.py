"""What the figures of dlmark's study share: its networks by batch size and device, as cells and as
points."""

from __future__ import annotations

from collections.abc import Sequence

from app.results import text
from app.results.measured import Measured
from app.studies.found import Found, figure
from app.studies.lines import batch_sizes, case_at
from app.studies.pictures import Points

RATE, MEMORY = "throughput_per_s", "rss_peak_mib"


def models(found: Found) -> list[str]:
    """Those of the run, in the plan's order."""
    return list(dict.fromkeys(one.case.model for one in found.measured))


def over_batch(line: Sequence[Measured], model: str, column: str) -> Points:
    """(batch, figure, in words) of what a line measured of a network, ascending."""
    told = ((batch, figure(case_at(line, model, batch), column)) for batch in batch_sizes(line))
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
