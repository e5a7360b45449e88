"""Stretches of one recorded run compared with each other: the same code, minutes apart.

`python -m tests.benchmarks stretches` counts, over the three runs that are kept here, how often a
comparison of two stretches calls the same case faster or slower, and how often eight rounds contain
the figure of the whole run: in a row, as a sweep schedules them, and evenly spread over the run.
`python -m tests.benchmarks.stretches RUN ...` does the same over run folders.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from app.analysis.columns.environment import STEAL_SHARE, SWITCHES_PER_S
from app.analysis.columns.rows import Rows
from app.cases.round import RoundResult
from app.cases.telemetry import Interference
from app.plan.plan import named_lengths
from app.runs.reader import read_run
from app.stats.intervals import (
    MOSTLY_DEPENDENT,
    RARELY_DEPENDENT,
    RoundCorrelation,
    interval_between,
    round_correlation,
    typical,
)
from app.stats.verdict import STATED, RunVariation, difference, from_history, judge
from app.sweep.scheduling.round_budget import Spread

_SIMULATED = Path(__file__).parent.parent / "simulated"
FIRST = _SIMULATED / "recorded_rounds.csv"
"""Looked at while the intervals were made; its load was 2 to 12."""
SECOND = _SIMULATED / "recorded_rounds_2.csv"
"""Its load went from 1 to 11; it was looked at for the mark of rounds that are close in time."""
THIRD = _SIMULATED / "recorded_rounds_3.csv"
"""Counted once intervals and marks were fixed; load 5 to 17."""
RECORDINGS = (FIRST, SECOND, THIRD)
FIGURES = ("p50", "p99", "mean", "throughput")
_INTERFERENCE = ("switches_per_s", "steal_fraction")
_ASSUMED_INTERFERENCE = {"switches_per_s": 10.0 * SWITCHES_PER_S, "steal_fraction": 0.0}
"""Of the first run, which lacks these counts and was measured beside other work."""
_COLUMNS = ("case", "round", "begun_s", "p50_us", "p99_us", "mean_us", "runs_per_s")
STRETCH = 8
_PAST_RUNS = 6

Figures = Mapping[str, np.ndarray]
"""By name, those of each round of a case in order of time."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A run by case; `begun_s` is when each pass began, from the first on."""

    cases: Mapping[str, Figures]
    begun_s: np.ndarray

    def is_contended(self, case: str, rounds: np.ndarray) -> bool:
        """As `app.analysis.columns.environment.is_contended` has it for these rounds."""
        figures = self.cases[case]
        switches, steal = (
            float(np.mean(figures[name][rounds]))
            if name in figures
            else _ASSUMED_INTERFERENCE[name]
            for name in _INTERFERENCE
        )
        return switches >= SWITCHES_PER_S or steal >= STEAL_SHARE

    def results(self, number: int, place: int) -> Iterator[RoundResult]:
        """The pass at this place as the round of this number of each case, with what other work
        took from it."""
        for case, figures in self.cases.items():
            switches, steal = (
                float(figures[name][place]) if name in figures else _ASSUMED_INTERFERENCE[name]
                for name in _INTERFERENCE
            )
            interference = Interference(1.0, steal, involuntary_switches=round(switches))
            yield RoundResult(case, number, "ok", interference=interference)


@dataclass(frozen=True, slots=True)
class Wrong:
    """Of so many comparisons of stretches that are the same how many were called otherwise, or
    left undecided for want of a variation."""

    comparisons: int
    wrong: int
    undecided: int

    @property
    def share(self) -> float:
        return self.wrong / self.comparisons if self.comparisons else 0.0


def read_recording(path: Path = FIRST) -> Recording:
    """The run that is kept as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return _recording_of(list(csv.DictReader(file)))


def rows_of(folder: Path) -> Iterator[dict[str, str]]:
    """A line for each timed round of each case, as the text has it."""
    run = read_run(folder)
    keys = {
        (case.case_id, result.round): result for case in run.cases for result in run.rounds_of(case)
    }
    start_times = {
        (case.case_id, result.round): np.datetime64(result.started_at_utc.partition("+")[0], "ms")
        for case in run.cases
        for result in run.rounds_of(case)
        if result.started_at_utc
    }
    first = min(start_times.values())
    for row in Rows().measured(run):
        by_name = {name: row.by_round(name) for name in ("p50", "p99", "mean")}
        if not all(by_name.values()):
            continue
        for number in row.rounds:
            start_s = start_times[row.case.case_id, number] - first
            interference = keys[row.case.case_id, number].interference
            switches = steal = 0.0
            if interference is not None and interference.seconds:
                switches = (interference.involuntary_switches or 0) / interference.seconds
                steal = interference.steal_share or 0.0
            figures = (
                *(by_name[name][number] for name in by_name),
                row.rates[number],
                switches,
                steal,
            )
            values = (
                f"{row.case.model} {row.case.runtime}",
                str(number),
                f"{start_s / np.timedelta64(1, 's'):.1f}",
                *(f"{value:.5g}" for value in figures),
            )
            yield dict(zip((*_COLUMNS, *_INTERFERENCE), values, strict=True))


def _recording_of(rows: Sequence[Mapping[str, str]]) -> Recording:
    """The rounds that all cases have."""
    by_case: dict[str, dict[int, Mapping[str, str]]] = {}
    for row in rows:
        by_case.setdefault(row["case"], {})[int(row["round"])] = row
    common = sorted(set.intersection(*(set(rounds) for rounds in by_case.values())))
    columns = dict(zip(FIGURES, _COLUMNS[3:], strict=True))
    columns |= {name: name for name in _INTERFERENCE if name in rows[0]}
    cases = {
        case: {
            name: np.array([float(rounds[number][column]) for number in common])
            for name, column in columns.items()
        }
        for case, rounds in by_case.items()
    }
    start_times = [min(float(rounds[n]["begun_s"]) for rounds in by_case.values()) for n in common]
    return Recording(cases, np.array(start_times))


def _differs(first: np.ndarray, second: np.ndarray, variation: RunVariation | None) -> bool:
    result = difference(first.tolist(), second.tolist(), in_turn=False, variation=variation)
    (verdict,) = judge([result])
    return verdict.word in ("faster", "slower")


def wrong_verdicts(recording: Recording, name: str, source: str, rounds: int = STRETCH) -> Wrong:
    """Of all pairs of stretches that do not overlap, each compared as `--compare` would two runs:
    with a `stated` variation, with a `history` of other stretches, or with `none` as it was before
    there was one."""
    comparisons = wrong = undecided_count = 0
    names = list(recording.cases)
    for place, case in enumerate(names):
        figures = recording.cases[case][name]
        begins = range(0, len(figures) - rounds + 1, rounds)
        stretches = [slice(begin, begin + rounds) for begin in begins]
        logs = [float(np.log(figures[stretch]).mean()) for stretch in stretches]
        errors = [
            float(np.log(figures[stretch]).std(ddof=1)) / rounds**0.5 for stretch in stretches
        ]
        rng = np.random.default_rng(place)
        for number, first in enumerate(stretches):
            for other in range(number + 1, len(stretches)):
                second = stretches[other]
                variation: RunVariation | None = None
                if source == "stated":
                    variation = STATED if name == "p50" else None
                elif source == "history":
                    rest = [k for k in range(len(stretches)) if k not in (number, other)]
                    past_rounds = rng.permutation(rest)[:_PAST_RUNS]
                    variation = from_history(
                        [logs[k] for k in past_rounds], errors=[errors[k] for k in past_rounds]
                    )
                comparisons += 1
                if variation is None and source != "none":
                    undecided_count += 1
                else:
                    wrong += _differs(figures[first], figures[second], variation)
    return Wrong(comparisons, wrong, undecided_count)


def contains(recording: Recording, case: str, name: str, rounds: np.ndarray) -> bool:
    """Whether the interval from these rounds, as a row has it over the rounds, contains the figure
    of the whole run."""
    figures = recording.cases[case][name]
    truth, choice = typical(figures), figures[rounds]
    is_likely = name != "p50" and recording.is_contended(case, rounds)
    prior = MOSTLY_DEPENDENT if is_likely else RARELY_DEPENDENT
    inflation = round_correlation(choice, recording.begun_s[rounds], prior).inflation
    interval = interval_between(choice, inflation=inflation)
    return interval is not None and interval.low <= truth <= interval.high


def marked_share(recording: Recording, samples: Sequence[np.ndarray]) -> float:
    """In which share of these samples of all cases `rounds_close_in_time` marks the intervals."""
    marks = []
    for sample in samples:
        span_s = float(recording.begun_s[sample[-1]] - recording.begun_s[sample[0]])
        marks += [
            RoundCorrelation(len(sample), span_s=span_s).is_close(
                recording.is_contended(case, sample)
            )
            for case in recording.cases
        ]
    return float(np.mean(marks))


def schedule_choices(
    recording: Recording, rounds: int, spread_s: float, contended_s: float = 0.0
) -> Iterator[np.ndarray]:
    """From every pass on: the passes that a sweep with this spread would have measured, each the
    first that begins when it is due."""
    begun_s = recording.begun_s
    for begin in range(len(begun_s) - rounds + 1):
        choice = [begin]
        spread = Spread(spread_s, rounds, contended_s, partial(_begun_last_s, begun_s, choice))
        spread.due_s(0)
        for number in range(1, rounds):
            for result in recording.results(number - 1, choice[-1]):
                spread.take(result)
            later = int(np.searchsorted(begun_s, spread.due_s(number)))
            choice.append(max(later, choice[-1] + 1))
            if choice[-1] >= len(begun_s):
                break
        else:
            yield np.array(choice)


def _begun_last_s(begun_s: np.ndarray, choice: Sequence[int]) -> float:
    return float(begun_s[choice[-1]])


def evenly(recording: Recording, rounds: int) -> Iterator[np.ndarray]:
    """So many passes that are evenly spread over the whole run."""
    distance = len(recording.begun_s) // rounds
    for begin in range(len(recording.begun_s) - distance * (rounds - 1)):
        yield np.arange(begin, begin + distance * (rounds - 1) + 1, distance)


def shares_held(recording: Recording, name: str, samples: Sequence[np.ndarray]) -> dict[str, float]:
    """By case in which share of these samples of passes the interval contains the figure."""
    # All cases of a sample in turn: the memory of the times of its rounds is computed once.
    hits = [
        [contains(recording, case, name, sample) for case in recording.cases] for sample in samples
    ]
    return dict(zip(recording.cases, np.mean(hits, axis=0).tolist(), strict=True))


def choices_of(recording: Recording) -> dict[str, list[np.ndarray]]:
    """Eight rounds as different schedules would have measured them, by the schedule's name."""
    standard = named_lengths()["standard"]
    short_s, long_s = standard.spread_s, standard.contended_spread_s
    return {
        "in a row": list(schedule_choices(recording, STRETCH, 0.0)),
        f"{short_s / 60:g} min": list(schedule_choices(recording, STRETCH, short_s)),
        "`standard`": list(schedule_choices(recording, STRETCH, short_s, long_s)),
        "evenly over the run": list(evenly(recording, STRETCH)),
    }


def main(arguments: Sequence[str]) -> None:
    """`--keep RUN FILE` writes a run's rounds as the text that is kept here."""
    from tests.benchmarks.coverage import stretches

    if arguments[:1] == ["--keep"]:
        folder, file = map(Path, arguments[1:3])
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, (*_COLUMNS, *_INTERFERENCE), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows_of(folder))
        return
    stretches([_recording_of(list(rows_of(Path(name)))) for name in arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
