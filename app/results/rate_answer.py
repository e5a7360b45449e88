"""The answer of a search for the highest rate, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.case import Case
from app.cases.target import Target
from app.results import text
from app.results.labels import differences, model_labels
from app.results.plain import one_line, printable
from app.results.rate_search import Searched
from app.stats.capacity import LEAST_SHARE
from app.stats.judging import figure_us

_LANES = ("sessions", "streams")
"""Options that are numbers of what they are called: always told, since they carry the load."""

WIDE = 1.1
"""A bracket that is wider comes with what would narrow it."""


def subjects(cases: Sequence[Case]) -> dict[str, str]:
    """Case id -> `ort-cpu with 2 sessions under with:mlp on edge`, with the model where there are
    several, and condition and host likewise."""
    models, apart = model_labels(case.model for case in cases), differences(cases)
    return {case.case_id: _subject(case, models, apart[case.case_id]) for case in cases}


def _subject(case: Case, models: dict[str, str], apart: Sequence[str]) -> str:
    lanes = {f"{name}={case.options[name]}": name for name in _LANES if name in case.options}
    condition = [word for word in apart if word in ("no condition", str(case.condition))]
    host = [word for word in apart if case.host and word == f"on {printable(case.host)}"]
    words = [word for word in apart if word not in (*lanes, *condition, *host)]
    for name in lanes.values():
        count = case.options[name]
        words.append(f"{count} {name if count != 1 else name.removesuffix('s')}")
    of = f"{models[case.model]} on " if len(models) > 1 else ""
    under = "".join(f" under {word}" for word in condition)
    there = "".join(f" {word}" for word in host)
    return f"{of}{case.runtime}{' with ' * bool(words)}{', '.join(words)}{under}{there}"


def kept(target: Target) -> str:
    """`p99 <= 5.00 ms`."""
    return f"{target.name} <= {text.latency(target.limit_us)}"


def rate(rate_hz: float) -> str:
    """`1,180/s`, `12.3/s`: digits as they matter, and no unit to multiply by."""
    return f"{rate_hz:,.0f}/s" if rate_hz >= 1000 else f"{text.significant(rate_hz)}/s"


def sentence(subject: str, searched: Searched, target: Target) -> str:
    """`ort-cpu with 2 sessions holds 1,160/s at p99 <= 5.00 ms (limit: 1,160/s to 1,200/s)`.

    Or why there is no such rate.
    """
    found, at = searched.bracket, f"at {kept(target)}"
    if not searched.over:
        missing = f"{subject} was not searched to the end: resume the run"
        return f"{missing}; {_so_far(searched, target)}"
    if found.low_hz is None:
        return f"{subject} holds no rate {at}: {_why_none(searched, target)}"
    if found.high_hz is None or found.not_offered:
        return f"{subject} holds {rate(found.low_hz)} or more {at}: {_why_open(searched)}"
    limit = f"limit: {rate(found.low_hz)} to {rate(found.high_hz)}"
    answer = f"{subject} holds {rate(found.low_hz)} {at} ({limit})"
    if found.high_hz > WIDE * found.low_hz:
        answer += "; to narrow it: more --rounds or a longer --preset"
    return answer


def _so_far(searched: Searched, target: Target) -> str:
    """What the rounds of an unfinished search have shown."""
    found = searched.bracket
    if not searched.points:
        figure = figure_us(searched.unloaded.rounds)
        unloaded = (
            "" if figure is None else f", unloaded its {target.name} is {text.latency(figure)}"
        )
        return f"no rate was measured so far{unloaded}"
    holds = "no rate is shown to hold so far"
    if found.low_hz is not None:
        holds = f"so far it holds at least {rate(found.low_hz)}"
    if found.high_hz is None:
        return f"{holds} at {kept(target)}, and no rate is shown to break it"
    breaks = "the generator is late" if found.not_offered else "it breaks"
    return f"{holds} and {breaks} at {rate(found.high_hz)}, at {kept(target)}"


def _why_none(searched: Searched, target: Target) -> str:
    unloaded, found = searched.unloaded, searched.bracket
    if (reason := _failure(searched)) is not None:
        return reason
    figure = figure_us(unloaded.rounds)
    least = "longer than that" if figure is None else text.latency(figure)
    if not searched.points:
        return f"unloaded its {target.name} is {least}, the least possible"
    lowest_hz = searched.points[0].rate_hz or 0.0
    if found.not_offered:
        return f"requests of {rate(lowest_hz)} themselves came late on this machine"
    if found.high_hz is not None and lowest_hz <= 1.01 * LEAST_SHARE * searched.service_hz:
        return f"{rate(lowest_hz)} misses it, and in a closed loop its {target.name} is {least}"
    return "the rounds are too few or too short to show one: more --rounds or a longer --preset"


def _why_open(searched: Searched) -> str:
    if (reason := _failure(searched)) is not None:
        return reason
    if searched.bracket.not_offered:
        highest_hz = searched.points[-1].rate_hz or 0.0
        return f"requests of {rate(highest_hz)} themselves came late on this machine"
    return "no rate was shown to break it"


def _failure(searched: Searched) -> str | None:
    """Why a round of the search ended without figures; None where none did."""
    points = (searched.unloaded, *searched.points)
    reasons = (one_line(point.reason) for point in points if point.verdict == "failed")
    return next(reasons, None)
