"""The answer of a search for the highest rate, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.case import Case
from app.cases.target import Target
from app.results import text
from app.results.labels import differences, model_labels
from app.results.plain import one_line, printable
from app.results.rate_search import Searched
from app.stats.capacity import Bracket, bracket
from app.stats.judging import figure_us

_LANES = ("sessions", "streams")
"""Options that are numbers of what they are called: always told, since they carry the load."""


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
    """`ort-cpu with 2 sessions holds 1,180/s (1,160 to 1,200) at p99 <= 5.00 ms`, or why not."""
    found, at = bracket(searched.decided), f"at {kept(target)}"
    if searched.following is not None and searched.following not in searched.curve:
        said = f"{subject} was not searched to the end: --resume the run"
        return f"{said}; {_so_far(searched, found, target)}"
    if found.low_hz is None:
        return f"{subject} holds no rate {at}: {_why_none(searched, target)}"
    if found.high_hz is None or found.end == "not_offered":
        return f"{subject} holds {rate(found.low_hz)} or more {at}: {_why_open(searched, found)}"
    middle_hz = (found.low_hz + found.high_hz) / 2.0
    low, high = (rate(end_hz).removesuffix("/s") for end_hz in (found.low_hz, found.high_hz))
    said = f"{subject} holds {rate(middle_hz)} ({low} to {high}) {at}"
    undecided = sum(found.low_hz < s.rate_hz < found.high_hz for s in searched.decided)
    if undecided:
        rates = "a rate" if undecided == 1 else f"{undecided} rates"
        said += f"; {rates} in between stayed undecided: more --rounds or a longer --profile"
    return said


def _so_far(searched: Searched, found: Bracket, target: Target) -> str:
    """What the rates of a search that goes on have shown."""
    if not searched.decided:
        figure = figure_us(searched.unloaded.rounds)
        unloaded = (
            "" if figure is None else f", unloaded its {target.name} is {text.latency(figure)}"
        )
        return f"no rate was decided so far{unloaded}"
    low_hz = 0.0 if found.low_hz is None else found.low_hz
    holds = f"so far it holds at least {rate(low_hz)}"
    if found.high_hz is None:
        return f"{holds} at {kept(target)}, and no rate breaks it yet"
    breaks = "the generator is late" if found.end == "not_offered" else "it breaks"
    return f"{holds} and {breaks} at {rate(found.high_hz)}, at {kept(target)}"


def _why_none(searched: Searched, target: Target) -> str:
    unloaded, decided = searched.unloaded, searched.decided
    if (reason := _failure(searched)) is not None:
        return reason
    figure = figure_us(unloaded.rounds)
    least = "longer than that" if figure is None else text.latency(figure)
    if not decided:
        return f"unloaded its {target.name} is {least}, the least possible"
    lowest = min(decided, key=lambda step: step.rate_hz)
    if lowest.verdict == "undecided":
        return f"{rate(lowest.rate_hz)} stayed undecided: more --rounds or a longer --profile"
    if lowest.verdict == "not_offered":
        return f"requests of {rate(lowest.rate_hz)} themselves came late on this machine"
    return f"{rate(lowest.rate_hz)} misses it, and in a closed loop its {target.name} is {least}"


def _why_open(searched: Searched, found: Bracket) -> str:
    if (reason := _failure(searched)) is not None:
        return reason
    if found.high_hz is None:
        return "no higher one can be asked for"
    return f"requests of {rate(found.high_hz)} themselves came late on this machine"


def _failure(searched: Searched) -> str | None:
    """Why a round of the search ended without figures; None where none did."""
    points = (searched.unloaded, *searched.steps)
    reasons = (one_line(point.reason) for point in points if point.verdict == "failed")
    return next(reasons, None)
