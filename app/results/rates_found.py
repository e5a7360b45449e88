"""What a run's searches for the highest rate came to: read once for all who tell it, and as a file
for the window, which reads no samples for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.cases.target import Target
from app.results.rate_answer import sentence, subjects
from app.results.rate_search import Searched, rate_searches
from app.results.regular import read_json
from app.results.run import Run
from exporters.codec import CodecError, from_json, to_json

ANSWERS = "rates.json"


@dataclass(frozen=True, slots=True)
class RatesFound:
    """Each search with what it is called, such as `ort-cpu with 2 sessions`.

    `resume` has the flags that continue those that are not over.
    """

    target: Target
    searches: tuple[tuple[str, Searched], ...]
    resume: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RateAnswer:
    """One search's target and answer: `latency` is `p99` or `mean`, `low_hz` the rate that is
    promised, `high_hz` the lowest that is shown to break it, None where there is none. `resume`
    has the flags that continue a search whose answer is not final; a file of schema 3 has a command
    line in their place, which is passed over."""

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


def rates_found(run: Run) -> RatesFound | None:
    """None of a plan that asks for no search; reads the samples of every rate."""
    target = run.manifest.asked.target
    if target is None:
        return None
    searches = rate_searches(run)
    names = subjects([search.subject for search in searches])
    return RatesFound(
        target,
        tuple((names[search.subject.case_id], search.of(run)) for search in searches),
        ("resume", str(run.path)),
    )


def answers_json(found: RatesFound) -> bytes:
    """The file."""
    answers = {
        point.case.case_id: _answer(name, searched, found)
        for name, searched in found.searches
        for point in searched.points
    }
    return json.dumps(to_json(_File(answers)), indent=1).encode()


def read_answers(path: Path) -> Mapping[str, RateAnswer]:
    """By case id; {} without the file, or while it is none that can be read."""
    try:
        return from_json(_File, read_json(path)).answers
    except (OSError, ValueError, CodecError):
        return {}


def _answer(name: str, searched: Searched, found: RatesFound) -> RateAnswer:
    target, ends = found.target, searched.bracket
    answer = sentence(name, searched, target)
    high_hz = None if ends.not_offered else ends.high_hz
    resume = () if searched.over else found.resume
    return RateAnswer(target.name, target.limit_us, answer, ends.low_hz, high_hz, resume)
