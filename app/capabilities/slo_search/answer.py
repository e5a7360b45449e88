"""The answer of a search for a rate: its sentence, its curve, and the file of all answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.capabilities.slo_search.search import (
    MINIMUM_SHARE,
    Bracket,
    Point,
    SearchState,
    rate_searches,
)
from app.cases.case import Case
from app.cases.column import Row
from app.cases.objectives import Target
from app.formatting import text
from app.formatting.case_labels import differences, model_labels
from app.formatting.text import one_line, printable
from app.plan.capabilities import CAPABILITIES
from app.run_folder.files import read_json
from app.run_folder.run import Run
from app.run_folder.table import to_csv
from app.stats.capacity import figure_us, interval, late_share
from app.stats.open_loop import knee
from exporters.codec import CodecError, from_json, to_json

_LANES = ("sessions", "streams")
"""Options that are numbers of what they are called: always told, since they carry the load."""

WIDE = 1.1
"""A bracket that is wider comes with what would narrow it."""


def subjects(cases: Sequence[Case]) -> dict[str, str]:
    """Case id -> `ort-cpu with 2 sessions under with:mlp on edge`, with the model where there are
    several, and condition and host likewise."""
    models, details = model_labels(case.model for case in cases), differences(cases)
    return {case.case_id: _subject(case, models, details[case.case_id]) for case in cases}


def _subject(case: Case, models: dict[str, str], details: Sequence[str]) -> str:
    lanes = {f"{name}={case.options[name]}": name for name in _LANES if name in case.options}
    condition = [word for word in details if word in ("no condition", str(case.condition))]
    host = [word for word in details if case.host and word == f"on {printable(case.host)}"]
    words = [word for word in details if word not in (*lanes, *condition, *host)]
    for name in lanes.values():
        count = case.options[name]
        words.append(f"{count} {name if count != 1 else name.removesuffix('s')}")
    model_text = f"{models[case.model]} on " if len(models) > 1 else ""
    condition_text = "".join(f" under {word}" for word in condition)
    host_text = "".join(f" {word}" for word in host)
    setting_text = f" with {', '.join(words)}" if words else ""
    return f"{model_text}{case.runtime}{setting_text}{condition_text}{host_text}"


def target_text(target: Target) -> str:
    """`p99 <= 5.00 ms`."""
    return f"{target.name} <= {text.latency(target.limit_us)}"


def rate(rate_hz: float) -> str:
    """`1,180/s`, `12.3/s`: digits as they matter, and no unit to multiply by."""
    return f"{rate_hz:,.0f}/s" if rate_hz >= 1000 else f"{text.significant(rate_hz)}/s"


def sentence(subject: str, state: SearchState, target: Target) -> str:
    """`ort-cpu with 2 sessions holds 1,160/s at p99 <= 5.00 ms (limit: 1,160/s to 1,200/s)`.

    Or why there is no such rate.
    """
    bracket, target_phrase = state.bracket, f"at {target_text(target)}"
    if not state.is_over:
        missing = f"{subject} was not searched to the end: resume the run"
        return f"{missing}; {_progress(state, target)}"
    if bracket.low_hz is None:
        return f"{subject} holds no rate {target_phrase}: {_reason_for_no_rate(state, target)}"
    if bracket.high_hz is None or bracket.not_offered:
        return (
            f"{subject} holds {rate(bracket.low_hz)} or more {target_phrase}: "
            f"{_reason_for_open_bracket(state)}"
        )
    limit = f"limit: {rate(bracket.low_hz)} to {rate(bracket.high_hz)}"
    answer = f"{subject} holds {rate(bracket.low_hz)} {target_phrase} ({limit})"
    if bracket.high_hz > WIDE * bracket.low_hz:
        answer += "; to narrow it: more --rounds or a longer --preset"
    return answer


def _progress(state: SearchState, target: Target) -> str:
    """What the rounds of an unfinished search have shown."""
    bracket = state.bracket
    if not state.points:
        figure = figure_us(state.unloaded.rounds)
        unloaded_text = (
            "" if figure is None else f", unloaded its {target.name} is {text.latency(figure)}"
        )
        return f"no rate was measured so far{unloaded_text}"
    holds = "no rate is shown to hold so far"
    if bracket.low_hz is not None:
        holds = f"so far it holds at least {rate(bracket.low_hz)}"
    if bracket.high_hz is None:
        return f"{holds} at {target_text(target)}, and no rate is shown to break it"
    breaks = "the generator is late" if bracket.not_offered else "it breaks"
    return f"{holds} and {breaks} at {rate(bracket.high_hz)}, at {target_text(target)}"


def _reason_for_no_rate(state: SearchState, target: Target) -> str:
    unloaded_point, bracket = state.unloaded, state.bracket
    if (reason := _failure(state)) is not None:
        return reason
    figure = figure_us(unloaded_point.rounds)
    latency_text = "longer than that" if figure is None else text.latency(figure)
    if not state.points:
        return f"unloaded its {target.name} is {latency_text}, the least possible"
    if bracket.not_offered:
        return _late_reason(bracket)
    lowest_hz = state.points[0].rate_hz or 0.0
    if bracket.high_hz is not None and lowest_hz <= 1.01 * MINIMUM_SHARE * state.service_hz:
        return (
            f"{rate(lowest_hz)} misses it, and in a closed loop its {target.name} is {latency_text}"
        )
    return "the rounds are too few or too short to show one: more --rounds or a longer --preset"


def _reason_for_open_bracket(state: SearchState) -> str:
    if (reason := _failure(state)) is not None:
        return reason
    if state.bracket.not_offered:
        return _late_reason(state.bracket)
    return "no rate was shown to break it"


def _late_reason(bracket: Bracket) -> str:
    return f"requests of {rate(bracket.high_hz or 0.0)} themselves came late on this machine"


def _failure(state: SearchState) -> str | None:
    """Why a round of the search ended without figures; None where none did."""
    points = (state.unloaded, *state.points)
    reasons = (one_line(point.reason) for point in points if point.verdict == "failed")
    return next(reasons, None)


RATES = "rates.csv"
COLUMNS = (
    "case_id",
    "subject",
    "offered_rate_hz",
    "latency",
    "value_us",
    "deadline_miss_rate",
    "ci_low",
    "ci_high",
    "rounds",
    "requests",
    "verdict",
    "knee",
)


def curve_rows(subject: str, state: SearchState, target: Target) -> list[Row]:
    """A row for each rate, the lowest first, after that of the closed loop, which has none.

    `latency` says what `value_us` is: `p99` or `mean`. `ci_low` and `ci_high` are of the share of
    late requests, of a mean in microseconds. `knee` marks one row.
    """
    bend = knee_hz(state)
    return [_row(subject, point, target, bend) for point in state.measured]


def knee_hz(state: SearchState) -> float | None:
    """The rate of the curve's knee; None of fewer than three rates, or with none beyond it."""
    rate_figures = [(point.rate_hz, figure_us(point.rounds)) for point in state.points]
    curve = [(hz, us) for hz, us in rate_figures if hz is not None and us is not None]
    bend = knee(curve) if len(curve) > 2 else None
    return None if curve and bend == curve[-1][0] else bend


def as_csv(rows: list[Row]) -> bytes:
    return to_csv(rows, COLUMNS)


def _row(subject: str, point: Point, target: Target, bend: float | None) -> Row:
    bounds = interval(point.rounds, target)
    return {
        "case_id": point.case.case_id,
        "subject": subject,
        "offered_rate_hz": point.rate_hz,
        "latency": target.name,
        "value_us": figure_us(point.rounds),
        "deadline_miss_rate": late_share(point.rounds),
        "ci_low": None if bounds is None else bounds.low,
        "ci_high": None if bounds is None else bounds.high,
        "rounds": len(point.rounds),
        "requests": sum(rate_round.requests for rate_round in point.rounds),
        "verdict": point.verdict,
        "knee": point.rate_hz is not None and point.rate_hz == bend,
    }


ANSWERS = CAPABILITIES["slo"].found_file


@dataclass(frozen=True, slots=True)
class RateResults:
    """Each search with what it is called, such as `ort-cpu with 2 sessions`.

    `resume` has the flags that continue those that are not over.
    """

    target: Target
    searches: tuple[tuple[str, SearchState], ...]
    resume: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RateAnswer:
    """One search's target and answer: `latency` is `p99` or `mean`, `low_hz` the rate that is
    promised, `high_hz` the lowest that is shown to break it, None where there is none. `resume`
    has the flags that continue a search whose answer is not final."""

    latency: str
    limit_us: float
    sentence: str = ""
    low_hz: float | None = None
    high_hz: float | None = None
    resume: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    """By the case id of each rate that was measured."""

    answers: Mapping[str, RateAnswer]


def rate_results(run: Run) -> RateResults | None:
    """None of a plan that asks for no search; reads the samples of every rate."""
    target = run.manifest.requested_plan.target
    if target is None:
        return None
    searches = rate_searches(run)
    names = subjects([search.subject for search in searches])
    return RateResults(
        target,
        tuple((names[search.subject.case_id], search.of(run)) for search in searches),
        ("resume", str(run.path)),
    )


def answers_json(results: RateResults) -> bytes:
    """The file."""
    answers = {
        point.case.case_id: _answer(name, state, results)
        for name, state in results.searches
        for point in state.points
    }
    return json.dumps(to_json(_File(answers)), indent=1).encode()


def found_rates(path: Path, run: Run) -> dict[str, RateAnswer]:
    """By the case of each rate: the end of its search, or the target alone until there is one."""
    target = run.manifest.requested_plan.target
    if target is None:
        return {}
    try:
        answers = from_json(_File, read_json(path)).answers
    except (OSError, ValueError, CodecError):
        answers = {}
    unanswered = RateAnswer(target.name, target.limit_us)
    rates = [case.case_id for case in run.cases if case.scenario.kind == "poisson"]
    return {**dict.fromkeys(rates, unanswered), **answers}


def _answer(name: str, state: SearchState, results: RateResults) -> RateAnswer:
    target, ends = results.target, state.bracket
    answer = sentence(name, state, target)
    high_hz = None if ends.not_offered else ends.high_hz
    resume = () if state.is_over else results.resume
    return RateAnswer(target.name, target.limit_us, answer, ends.low_hz, high_hz, resume)
