"""Inputs in a second as the tables of this study tell them."""

from __future__ import annotations

from app.results import text
from app.results.measured import Measured
from app.results.published import HistoryStep
from app.stats.quantiles import CONFIDENCE
from app.stats.verdict import difference, interval_of
from app.studies.found import cell, figure

RATE = "throughput_per_s"


def rate_cell(one: Measured | None) -> str:
    """A case's inputs in a second, or in a word why it has none."""
    return cell(one, RATE, text.rate_text)


def published(step: HistoryStep, before: HistoryStep | None) -> tuple[str, str, str]:
    """A step of the history: its name, its figure as printed, times that of the one before."""
    more = times(step.inputs_per_s, None if before is None else before.inputs_per_s)
    return step.step, f"{step.inputs_per_s:g}", more


def gain(before: Measured | None, after: Measured | None) -> str:
    """How many times as much the second has, with the 95 % interval from pairs of rounds, or how
    few there are; "" where one of the two has no figure."""
    rates = figure(before, RATE), figure(after, RATE)
    told = times(rates[1], rates[0])
    if not told or before is None or after is None:
        return told
    both = [number for number in before.rates if number in after.rates]
    apart = difference(
        [before.rates[number] * _batch(before) for number in both],
        [after.rates[number] * _batch(after) for number in both],
        in_turn=True,
    )
    if apart is None:
        return f"{told} ({len(both)} round{'s' * (len(both) != 1)})"
    ends = interval_of(apart, CONFIDENCE)
    if text.is_too_noisy(ends.low, ends.high):
        return f"{told} ({text.TOO_NOISY})"
    return f"{told} ({text.significant(ends.low)} to {text.significant(ends.high)})"


def _batch(one: Measured) -> int:
    return one.case.axes.get("batch", 1)


def times(after: float | None, before: float | None) -> str:
    """How many times as much, "" where one of the two is not there."""
    return "" if not after or not before else f"{text.significant(after / before)}"
