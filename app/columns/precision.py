"""Columns of precision: how wide intervals are, the rounds they require, why rounds ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.cases.column import Row
from app.cases.objectives import JUDGED
from app.cases.round import RoundResult
from app.cases.units import shown
from app.formatting.text import significant
from app.stats.intervals import LEAST_ROUNDS
from app.stats.required_rounds import (
    FIRST_LOOK,
    NARROW,
    Precise,
    reach,
    rounds_needed,
    samples_needed,
)
from app.stats.summary import Summary
from app.stats.verdict import smallest_change_between
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic


def needed_columns(summary: Summary) -> Row:
    """Rounds for a narrow interval, and the smallest change that such rounds would find."""
    values: Row = {}
    for name in JUDGED:
        figure = summary.figures[name]
        if figure.interval is not None:
            values[f"required_rounds_{name}"] = rounds_needed(
                figure.by_round,
                confidence=summary.confidence,
                inflation=figure.correlation.inflation if figure.correlation else 1.0,
            )
            values[f"detectable_slowdown_{name}"] = smallest_change_between(figure.by_round)
    return values


def still_needed(row: Mapping[str, Any], samples: int) -> str:
    """What the p99 lacks: `268 samples`, `6 more rounds for ±5 %`, or `nothing`.

    `row` is the case's as far as it is known, empty before its first round has ended; `samples`
    are those of all its rounds, the one in flight with them.
    """
    missing = samples_needed(0.99, samples)
    if missing:
        return f"{missing:,} samples"
    rounds, needed = row.get("rounds") or 0, row.get("required_rounds_p99")
    if needed is None:
        more = LEAST_ROUNDS - rounds
        return f"{more_rounds(more)} for an interval" if more > 0 else "longer rounds"
    more = needed - rounds
    return f"{more_rounds(more)} for ±{100 * NARROW:g} %" if more > 0 else "nothing"


def more_rounds(more: int) -> str:
    """`1 more round`, `6 more rounds`."""
    return "1 more round" if more == 1 else f"{more:,} more rounds"


def rounds_wanted(rule: Precise, rounds: Sequence[RoundResult], summary: Summary | None) -> int:
    """So many in all as far as is known after `rounds`; as many as there are once it is over.

    A simulation is drawn from its seed and no surer for more rounds than the least.
    """
    had = len(rounds)
    if had in rule.looks and summary is not None and rule.settles(summary.figures):
        return had
    if had >= FIRST_LOOK and _simulated(rounds):
        return had
    return max(had, rule.next_look(had))


def ended_by(rule: Precise, rounds: Sequence[RoundResult], summary: Summary) -> str:
    """`precise: p50 within 0.8 % after 10 rounds`, with what was asked where that was missed."""
    had, left = len(rounds), rounds_wanted(rule, rounds, summary) - len(rounds)
    told = _reached(rule, summary)
    if left > 0:
        return f"ended after {had} round{'s' * (had > 1)}, before the look at {had + left}: {told}"
    if _simulated(rounds):
        return f"precise: {had} rounds are enough of a simulation"
    most = had >= rule.most and not rule.narrow(summary.figures)
    bound = ", the most there may be" if most else ""
    return f"precise: {told} after {had} rounds{bound}"


def shortfalls(
    rule: Precise, rounds: Sequence[RoundResult], summary: Summary
) -> Iterator[Diagnostic]:
    """What a case that had all its rounds did not reach."""
    if rounds_wanted(rule, rounds, summary) > len(rounds) or _simulated(rounds):
        return
    if rule.narrow(summary.figures):
        return
    for name, requested in rule.asked.items():
        percentile, reached = shown(name), reach(summary.figures[name])
        if reached is None:
            yield diagnostic(
                "interval_unavailable",
                percentile=percentile,
                rounds=len(rounds),
                requested=requested,
            )
        elif reached > requested:
            yield diagnostic(
                "interval_not_reached",
                percentile=percentile,
                reached=reached,
                rounds=len(rounds),
                requested=requested,
            )


def looked_at(rule: Precise, rounds: Sequence[RoundResult], summary: Summary) -> str:
    """What a look came to: `p50 within 2.4 % (1 % asked): 3 more rounds`."""
    left = rounds_wanted(rule, rounds, summary) - len(rounds)
    return f"{_reached(rule, summary)}: {more_rounds(left) if left else 'no more rounds'}"


def _reached(rule: Precise, summary: Summary) -> str:
    return ", ".join(_told(rule, summary, name) for name in rule.asked)


def _told(rule: Precise, summary: Summary, name: str) -> str:
    figure, asked = summary.figures[name], rule.asked[name]
    reached = reach(figure)
    if reached is None:
        longer = ", which takes longer rounds" if figure.too_short else ""
        return f"{shown(name)} without an interval ({figure.absent}{longer})"
    missed = f" ({100 * asked:.6g} % asked)" if reached > asked else ""
    return f"{shown(name)} within {significant(100 * reached, 2)} %{missed}"


def _simulated(rounds: Sequence[RoundResult]) -> bool:
    return bool(rounds) and rounds[-1].clock == "simulated"
