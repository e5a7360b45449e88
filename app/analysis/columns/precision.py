"""Columns of precision: how wide intervals are, the rounds they require, why rounds ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.analysis.columns.family import CaseData, Count, Family, Lower, Number
from app.analysis.columns.rounds import join_values
from app.cases.column import Row
from app.cases.objectives import JUDGED
from app.cases.round import RoundResult
from app.cases.units import percentile_label
from app.formatting.text import counted, significant
from app.stats.intervals import MINIMUM_ROUNDS, unseen_share
from app.stats.required_rounds import (
    FIRST_LOOK,
    LOOKED,
    NARROW,
    SequentialRule,
    StoppingRule,
    reach,
    rounds_needed,
    samples_needed,
)
from app.stats.summary import Summary
from app.stats.verdict import smallest_change_between
from exporters.diagnostics import Diagnostic, diagnostic


class Precision(Family, heading="Precision"):
    """Rounds for a narrow interval, the smallest change that such rounds would find, and what the
    quoted figures leave out: rare slow processes, and correlation between rounds."""

    required_rounds_p99 = Count("Required rounds for p99", each=JUDGED)
    """Rounds in total for an interval of ±5 % of p99, with the spread seen so far."""
    detectable_slowdown_p99 = Number(
        "Detectable slowdown of p99", "confidence", each=JUDGED, others=("p99",)
    )
    """The smallest slowdown of p99, as a fraction, that a comparison of as many rounds finds with a
    power of 90 %."""
    slowest_round_p99_us = Lower("Slowest round's p99", each=JUDGED)
    """The largest p99 of a round; the quoted figure leaves out rare slow processes."""
    unseen_mode_fraction = Number("Unseen modes")
    """The largest fraction of slow processes that this number of rounds misses with a probability
    of 5 %."""
    round_correlation_p99 = Number("Correlation of p99", each=JUDGED)
    """The correlation of neighbouring rounds' p99, corrected for bias; empty below five rounds."""
    rounds_span_s = Number("Span")
    """From the start of the first round to the start of the last; empty if one is unknown."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        summary = data.latency
        if summary is None:
            return {}
        values: Row = {"unseen_mode_fraction": unseen_share(summary.rounds)}
        for name in JUDGED:
            figure = summary.figures[name]
            correlation = figure.correlation
            if figure.interval is not None:
                values[f"required_rounds_{name}"] = rounds_needed(
                    figure.by_round,
                    confidence=summary.confidence,
                    inflation=correlation.inflation if correlation else 1.0,
                )
                values[f"detectable_slowdown_{name}"] = smallest_change_between(figure.by_round)
            values[f"slowest_round_{name}_us"] = figure.slowest_round
            if correlation is not None:
                values[f"round_correlation_{name}"] = correlation.lag1
                values["rounds_span_s"] = correlation.span_s
        return values


class Stopping(Family):
    """Of a plan that adds rounds until intervals are narrow, or verdicts decided: it replaces why
    rounds ended, and the method of intervals."""

    @staticmethod
    def fill(data: CaseData, row: Row) -> Row:
        rule, sequence = data.plan.stopping, data.plan.sequence
        if data.summary is None:
            return {}
        if sequence is not None:
            ending = sequential_stop_reason(sequence, len(data.rounds))
        elif rule is not None:
            ending = stop_reason(rule, data.rounds, data.summary)
        else:
            return {}
        return {
            "stop_reason": join_values((*(r.stop_reason for r in data.rounds), ending)),
            "ci_method": LOOKED if row["ci_method"] else None,
        }


def missing_text(row: Mapping[str, Any], samples: int) -> str:
    """What the p99 lacks: `268 samples`, `6 more rounds for ±5 %`, or `nothing`.

    `row` is the case's as far as it is known, empty before its first round has ended; `samples`
    are those of all its rounds, the one in flight with them.
    """
    missing = samples_needed(0.99, samples)
    if missing:
        return counted(missing, "sample")
    rounds, required_rounds = row.get("rounds") or 0, row.get("required_rounds_p99")
    if required_rounds is None:
        remaining = MINIMUM_ROUNDS - rounds
        return f"{more_rounds(remaining)} for an interval" if remaining > 0 else "longer rounds"
    remaining = required_rounds - rounds
    return f"{more_rounds(remaining)} for ±{100 * NARROW:g} %" if remaining > 0 else "nothing"


def more_rounds(count: int) -> str:
    """`1 more round`, `6 more rounds`."""
    return counted(count, "more round")


def target_rounds(
    rule: StoppingRule, rounds: Sequence[RoundResult], summary: Summary | None
) -> int:
    """So many in all as far as is known after `rounds`; as many as there are once it is over.

    A simulation is drawn from its seed and no surer for more rounds than the least.
    """
    count = len(rounds)
    if count in rule.looks and summary is not None and rule.settles(summary.figures):
        return count
    if count >= FIRST_LOOK and _is_simulated(rounds):
        return count
    return max(count, rule.next_look(count))


def stop_reason(rule: StoppingRule, rounds: Sequence[RoundResult], summary: Summary) -> str:
    """`precise: p50 within 0.8 % after 10 rounds`, with what was asked where that was missed."""
    count, remaining = len(rounds), target_rounds(rule, rounds, summary) - len(rounds)
    reached_text = _reach_text(rule, summary)
    if remaining > 0:
        return (
            f"ended after {counted(count, 'round')}, before the look at "
            f"{count + remaining}: {reached_text}"
        )
    if _is_simulated(rounds):
        return f"precise: {counted(count, 'round')} of a simulation, which more do not change"
    is_maximum = count >= rule.maximum and not rule.narrow(summary.figures)
    bound = ", the most there may be" if is_maximum else ""
    return f"precise: {reached_text} after {counted(count, 'round')}{bound}"


def sequential_stop_reason(rule: SequentialRule, rounds: int) -> str:
    """`sequential: 6 rounds, verdicts looked at after 3, 4, 6`."""
    looks = ", ".join(str(look) for look in rule.looks if look <= rounds)
    count = counted(rounds, "round")
    if rounds not in rule.looks:
        return f"ended after {count}, before the look at {rule.look_at(rounds)}"
    bound = ", the maximum" if rounds == rule.maximum else ""
    return f"sequential: {count}{bound}, verdicts looked at after {looks}"


def shortfalls(
    rule: StoppingRule, rounds: Sequence[RoundResult], summary: Summary
) -> Iterator[Diagnostic]:
    """What a case that had all its rounds did not reach."""
    if target_rounds(rule, rounds, summary) > len(rounds) or _is_simulated(rounds):
        return
    if rule.narrow(summary.figures):
        return
    for name, target in rule.targets.items():
        percentile, actual_reach = percentile_label(name), reach(summary.figures[name])
        if actual_reach is None:
            yield diagnostic(
                "interval_unavailable",
                percentile=percentile,
                rounds=len(rounds),
                requested=target,
            )
        elif actual_reach > target:
            yield diagnostic(
                "interval_not_reached",
                percentile=percentile,
                reached=actual_reach,
                rounds=len(rounds),
                requested=target,
            )


def look_text(rule: StoppingRule, rounds: Sequence[RoundResult], summary: Summary) -> str:
    """What a look came to: `p50 within 2.4 % (1 % asked): 3 more rounds`."""
    remaining = target_rounds(rule, rounds, summary) - len(rounds)
    more = more_rounds(remaining) if remaining else "no more rounds"
    return f"{_reach_text(rule, summary)}: {more}"


def _reach_text(rule: StoppingRule, summary: Summary) -> str:
    return ", ".join(_reached_text(rule, summary, name) for name in rule.targets)


def _reached_text(rule: StoppingRule, summary: Summary, name: str) -> str:
    figure, target = summary.figures[name], rule.targets[name]
    half_width = reach(figure)
    if half_width is None:
        longer = ", which takes longer rounds" if figure.too_short else ""
        return f"{percentile_label(name)} without an interval ({figure.absent}{longer})"
    target_text = f" ({100 * target:.6g} % asked)" if half_width > target else ""
    return f"{percentile_label(name)} within {significant(100 * half_width, 2)} %{target_text}"


def _is_simulated(rounds: Sequence[RoundResult]) -> bool:
    return bool(rounds) and rounds[-1].clock == "simulated"
