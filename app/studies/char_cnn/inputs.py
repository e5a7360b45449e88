"""Inputs in a second as the tables of this study tell them."""

from __future__ import annotations

from app.results import text
from app.results.measured import Measured
from app.results.published import HistoryStep
from app.studies.found import cell

RATE = "throughput_per_s"


def rate_cell(one: Measured | None) -> str:
    """A case's inputs in a second, or in a word why it has none."""
    return cell(one, RATE, text.rate_text)


def published(step: HistoryStep, before: HistoryStep | None) -> tuple[str, str, str]:
    """A step of the history: its name, its figure as printed, times that of the one before."""
    gain = times(step.inputs_per_s, None if before is None else before.inputs_per_s)
    return step.step, f"{step.inputs_per_s:g}", gain


def times(after: float | None, before: float | None) -> str:
    """How many times as much, "" where one of the two is not there."""
    return "" if not after or not before else f"{text.significant(after / before)}"
