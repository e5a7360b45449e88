"""The families of columns, in the order in which they fill a row and stand in its tables."""

from __future__ import annotations

from app.analysis.columns.devices import Devices
from app.analysis.columns.environment import (
    Engine,
    GpuSettings,
    Inputs,
    Interfering,
    Pauses,
    Placement,
)
from app.analysis.columns.facts import Buffers, Card, Checks, Colocated, Evicted, OnDevice
from app.analysis.columns.family import CaseData, Comparing, Family
from app.analysis.columns.identity import OtherProgram, TheCase, TheModel, TheRun
from app.analysis.columns.latency import (
    Arrival,
    Bounds,
    Deadline,
    Intervals,
    Latency,
    Levels,
    Patterns,
    Throughput,
)
from app.analysis.columns.load import Batches, Load, Shapes, Sustained
from app.analysis.columns.overhead import ColdStarts, Overhead
from app.analysis.columns.precision import Precision, Stopping
from app.analysis.columns.reference_cases import Baseline, Scaling
from app.analysis.columns.rounds import AsMeasured, Measurement, MixedGraphs, Outputs
from app.analysis.columns.status import Accuracy, Diagnosed, Ending
from app.cases.column import Row

FAMILIES: tuple[type[Family], ...] = (
    *(TheRun, TheModel, TheCase, AsMeasured, Engine, Ending, Measurement, Inputs),
    *(Latency, Arrival, Intervals, Precision, Bounds, Patterns, Levels, Throughput, Deadline),
    *(Pauses, Load, Batches, Shapes, Sustained, Evicted, Colocated, ColdStarts),
    *(Placement, OnDevice, Buffers, GpuSettings, Devices, Interfering),
    *(Outputs, Accuracy, Checks, Card, Stopping, Diagnosed, OtherProgram, MixedGraphs),
)
COMPARING: tuple[type[Comparing], ...] = (Baseline, Overhead, Scaling)
"""They follow, once all rows are there."""


def fill_row(data: CaseData, row: Row) -> None:
    """Give a row the values of all families; of a case without rounds those that it has."""
    for family in FAMILIES:
        if data.rounds or family.unmeasured:
            row.update(family.fill(data, row))
