"""Simulated verdicts: how often they are wrong, which changes they find, and what is noticed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

import numpy as np

from app.analysis.insights.rules import find_insights
from app.cases.case import Case
from app.cases.objectives import BAND
from app.stats.change_points import MINIMUM_RUNS, change_points, common_factor
from app.stats.intervals import round_correlation
from app.stats.patterns import Timed, concordance, consensus_modes, modes, stalls
from app.stats.verdict import (
    STATED,
    Difference,
    RoundPairs,
    RunVariation,
    binomial_interval,
    judge_rounds,
)
from tests.app.analysis.comparison.drawn import EQUAL, drawn_row
from tests.benchmarks.tables import percent, write_table
from tests.simulated import turns
from tests.simulated.aa import PROCESSES, WANDERING, Processes, wrong_runs
from tests.simulated.histories import STATIONARY, Noise, boots, history, linked, machine_history
from tests.simulated.levels import ONE_LEVEL, TWO_LEVELS, Draw, back_to_back, with_stalls
from tests.simulated.machines import fractional_noise
from tests.simulated.power import ROUNDS_OF
from tests.simulated.power import power as power_of
from tests.simulated.runs import called, past_of
from tests.simulated.sequential import endings


def aa(tries: int = 1000) -> None:
    """How often a run of cases compared with themselves has any wrong verdict."""
    cases = {1: tries, 10: max(tries * 3 // 10, 1), 100: max(tries // 10, 1)}
    print("% of runs with any wrong verdict, runs of cases:", cases)
    for kinds in (PROCESSES, WANDERING):
        print("" if kinds is PROCESSES else "\nthe same of sides that wander by themselves\n")
        numbers = (3, 4, 5, 8, 16)
        write_table(
            ("processes", *numbers),
            ((kind.name, *(_wrong(kind, cases, rounds) for rounds in numbers)) for kind in kinds),
        )


def _wrong(kind: Processes, cases: Mapping[int, int], rounds: int) -> str:
    return percent((wrong_runs(kind, n, rounds, runs) / runs for n, runs in cases.items()), 1)


def sequential(tries: int = 500) -> None:
    """Comparisons over 3 to 16 rounds: wrong verdicts of alike cases, then changes found where
    rounds differ by 3 %."""
    cases, most = {1: 4 * tries, 10: tries * 3 // 5}, 16

    def wrong(kind: Processes, band: float) -> str:
        runs = ((endings(kind, (n, most), count, band=band), count) for n, count in cases.items())
        return percent((sum(e.is_wrong_without_change for e in r) / n for r, n in runs), 1)

    print("% of runs with any wrong verdict, runs of cases:", cases, "\n")
    # What ticks leave open is the rows' own, and no figure of a round has it.
    kinds = [kind for kind in PROCESSES if not kind.tick_us]
    write_table(
        ("processes", "sequential", "fixed 16", "sequential, no threshold"),
        ((k.name, wrong(k, BAND), _wrong(k, cases, most), wrong(k, 0.0)) for k in kinds),
    )
    print()
    heads = ("change", "called slower, %", "rounds, median", "fixed 16: called slower, %")
    write_table(heads, (_found(kinds[0], c, most, tries) for c in (0.0, 0.05, 0.1, 0.2, 0.5)))


def _found(kind: Processes, change: float, most: int, tries: int) -> Sequence[object]:
    ends = endings(kind, (1, most), tries, change)
    count = sum(end.verdicts[0].word == "slower" for end in ends)
    rng = np.random.default_rng(35)
    first, second = (factor * kind.figures(rng, (tries, most)) for factor in (1.0, 1.0 + change))
    pairs = (RoundPairs(*sides) for sides in zip(first, second, strict=True))
    fixed = sum(judge_rounds([pair])[0].word == "slower" for pair in pairs)
    rounds = median(end.rounds[0] for end in ends)
    return f"{100 * change:g} %", percent([count / tries]), f"{rounds:g}", percent([fixed / tries])


def power(tries: int = 20_000) -> None:
    """The smallest change that a row foretells, beside the one that nine of ten tests find."""
    numbers = (3, 4, 5, 8, 16, 32)

    def cell(kind: str, rounds: int) -> str:
        row = power_of(kind, rounds, tries, max(tries * 3 // 20, 1))
        return f"{percent((row.found, row.foretold), 1)} ({percent([row.below_half])})"

    print("found, foretold in the median (rows that foretell less than half), in %\n")
    write_table(
        ("rounds", *numbers), ((kind, *(cell(kind, n) for n in numbers)) for kind in ROUNDS_OF)
    )


def apart(tries: int = 1000) -> None:
    """Runs that were made apart: wrong verdicts, and histories of a machine that is rebooted."""
    pasts = (3, 6, 12)
    heads = [f"history of {runs}" for runs in pasts]
    print("runs of the same code, called faster or slower, %: 4, 8, 16, 64 rounds of 3 %\n")
    write_table(
        ("runs differ by", "rounds alone", "stated", *heads),
        (
            (f"{100 * deviation:g} %", *(
                percent((_called(deviation, n, past, 0.0, tries) for n in (4, 8, 16, 64)), 1)
                for past in (0, None, *pasts)
            ))
            for deviation in (0.01, 0.03, 0.05, 0.1)
        ),
    )  # fmt: skip
    print("\na slowdown found, %, 8 rounds, runs differ by 1 %\n")
    write_table(
        ("slower by", "stated", *heads),
        (
            (f"{100 * change:g} %", *(
                percent([_called(0.01, 8, past, change, tries)]) for past in (None, *pasts)
            ))
            for change in (0.05, 0.1, 0.15, 0.2, 0.3)
        ),
    )  # fmt: skip
    print(
        "\nhistories of 40 runs that differ by 1 %, boots of 1.5 %, %: alarms of unchanged series,"
    )
    print("a slowdown of 5 % of one found in its place, changes of the machine\n")
    ways = {
        "as measured": (0.0, False),
        "shared part removed": (0.0, True),
        "the same, each case affected differently by a boot (standard deviation 0.3)": (0.3, True),
    }
    write_table(
        ("series", *ways),
        (
            (n, *(percent(_rebooted(n, *way, tries // 5)) for way in ways.values()))
            for n in (2, 3, 5, 20)
        ),
    )


def _called(deviation: float, rounds: int, past: int | None, change: float, tries: int) -> float:
    """In which share of tries the second of two runs is called faster or slower."""
    rng = np.random.default_rng(round(1000 * deviation) + rounds)
    count = 0
    for _ in range(tries):
        variation: RunVariation | None = STATED
        if past is not None:
            variation = past_of(rng, deviation, rounds, past) if past else None
        count += called(rng, deviation, rounds, variation, change)
    return count / tries


def _rebooted(series: int, sharing: float, shared: bool, tries: int) -> Iterator[float]:
    """Of histories of a machine that is booted every 4 to 12 runs, in which share an unchanged
    series shows a change, the slowdown of one is found, and the machine shows a change."""
    rng, runs, begin = np.random.default_rng(series), 40, 30
    counts = np.zeros(3)
    for _ in range(tries):
        figures = machine_history(
            rng, boots(rng, runs), series, slower=slice(begin, runs), change=0.05, sharing=sharing
        )
        logs = np.log(np.array(figures))
        factor = common_factor(logs) if shared else None
        if factor is not None:
            counts[2] += bool(change_points([np.exp(factor).tolist()])[0])
            logs = logs - factor
        changes = change_points(np.exp(logs).tolist())
        counts[0] += any(changes[1:])
        counts[1] += any(abs(change.place - begin) <= 1 for change in changes[0])
    yield from (counts / tries).tolist()


def changes(tries: int = 1000) -> None:
    """Change points of histories: false alarms, and how often a slowdown of 5 % is found."""
    more = {f"AR {rho}, a limit": linked(rho) for rho in (0.2, 0.4, 0.6)}
    few = max(tries // 5, 1)
    shapes = {
        "10 alone": (10, 1, tries),
        "20 alone": (20, 1, tries),
        "60 alone": (60, 1, tries),
        "20 of 20 series": (20, 20, few),
    }
    print("false alarms, runs differ by 1 %: band 0, band 2 %\n")

    def alarms(noise: Noise, shape: tuple[int, int, int]) -> str:
        return percent((_alarms(noise, *shape, band) for band in (0.0, 0.02)), 1)

    write_table(
        ("runs", *shapes),
        (
            (name, *(alarms(noise, shape) for shape in shapes.values()))
            for name, noise in (STATIONARY | more).items()
        ),
    )
    print("\na slowdown of 5 % found, alone and among 100 series\n")
    places = {
        "10 after 10": (20, slice(10, 20)),
        "the last 4 of 30": (30, slice(26, 30)),
        "runs 10 to 20 of 30": (30, slice(10, 20)),
    }

    def placed(noise: Noise, place: tuple[int, slice]) -> str:
        return percent(_placed(noise, *place, series, few // 2 + 1) for series in (1, 100))

    write_table(
        ("runs", *places),
        (
            (name, *(placed(noise, place) for place in places.values()))
            for name, noise in STATIONARY.items()
        ),
    )


def _alarms(noise: Noise, runs: int, series: int, tries: int, band: float) -> float:
    """The share of histories in which some series shows a change."""
    rng = np.random.default_rng(runs * 1000 + series)
    drawn = ([history(rng, noise, runs) for _ in range(series)] for _ in range(tries))
    return sum(any(change_points(histories, band)) for histories in drawn) / tries


def _placed(noise: Noise, runs: int, slower: slice, series: int, tries: int) -> float:
    """The share in which the beginning of `slower` is found, to a run, among so many series."""
    rng, found = np.random.default_rng(runs * 1000 + series + 7), 0
    still = [[100.0] * MINIMUM_RUNS] * (series - 1)
    for _ in range(tries):
        points = change_points([history(rng, noise, runs, slower=slower), *still])[0]
        found += any(abs(change.place - slower.start) <= 1 for change in points)
    return found / tries


def sets(tries: int = 2000) -> None:
    """Intervals and verdicts over sets of processes that take turns, simulated and recorded."""
    numbers, judged, bands = (3, 5, 8, 16), (5, 8), (0.02, 0.005)
    print(f"intervals that hold the ratio in % of {tries:,} tries\n")
    write_table(
        ("machine", f"{', '.join(map(str, numbers))} sets"),
        (
            (kind.name, percent(turns.held(kind, n, tries) / tries for n in numbers))
            for kind in turns.KINDS
        ),
    )

    def wrong(differences: Sequence[Difference | None], cases: Sequence[int]) -> list[str]:
        return [
            percent((turns.wrong_runs(differences, n, band) for n in cases), 1) for band in bands
        ]

    def of_copies(kind: turns.Kind) -> Iterator[str]:
        for n in judged:
            yield from wrong(turns.alike(kind, n, compared), (1, 10, 100))

    compared = 5 * tries
    print(f"\n% of runs of 1, 10, 100 copies with a wrong verdict, of {compared:,} comparisons\n")
    write_table(
        ("machine", *(f"wrong at {100 * band:g} %, {n} sets" for n in judged for band in bands)),
        ((kind.name, *of_copies(kind)) for kind in turns.KINDS),
    )
    sides = turns.recorded()
    (everything,) = turns.resampled(sides, len(sides[0]), 1)
    assert everything is not None
    ratio = math.exp(everything.log)
    print()
    write_table(
        (
            f"sets of {len(sides[0])} recorded, ratio {ratio:.4f}",
            "held",
            *(f"wrong at {100 * band:g} %" for band in bands),
        ),
        (
            (n, percent([turns.holding(drawn, ratio) / tries]), *wrong(drawn, (1,)))
            for n in judged
            for drawn in [turns.resampled(sides, n, tries)]
        ),
    )


def noticed(cases: int = 400) -> None:
    """How often levels, stalls and differences are found where none are, and where some are."""
    lengths = (1_000, 5_000, 20_000)
    for title, streams in (("one level", ONE_LEVEL), ("two levels", TWO_LEVELS)):
        print(f"\n{title}: share of {cases} cases with two levels (at most), and with stalls\n")
        write_table(
            ("latencies", *(f"{runs:,} runs" for runs in lengths)),
            ((name, *(_seen(draw, n, cases) for n in lengths)) for name, draw in streams.items()),
        )
    print("\nstalls at a beat, in lognormal noise of 5 %: share found, and the period's error\n")
    write_table(
        ("stalls", *(f"{runs:,} runs" for runs in lengths)),
        (
            (f"{us[0]:g} us every {us[1]:g} us", *(_beat(*us, n, cases) for n in lengths))
            for us in ((200.0, 4_000.0), (8_000.0, 40_000.0), (100.0, 1_000.0))
        ),
    )
    print("\ntwelve equal cases of four rounds that differ by so much: runs with a difference\n")
    kinds, tries = {"precision", "threads", "best"}, 5 * cases // 2
    equal = [(case, 50.0) for case in EQUAL]
    spreads = (0.01, 0.03, 0.1)
    write_table(
        [f"{spread:.0%}" for spread in spreads],
        [[_insights(equal, spread, kinds, 99, tries) for spread in spreads]],
    )
    print("\nint8 that takes so many times as long as fp32: found where rounds differ by 2, 5 %\n")
    plain, narrow = (Case("mlp", "ort-cpu"), 40.0), Case("mlp", "ort-cpu", precision="int8")
    write_table(
        ("times", "2 %", "5 %"),
        (
            (
                n,
                *(
                    _insights([plain, (narrow, 40.0 * n)], spread, {"precision"}, 98, cases)
                    for spread in (0.02, 0.05)
                ),
            )
            for n in (1.1, 1.25, 1.5)
        ),
    )


def _timed(latency_us: np.ndarray) -> Timed:
    return Timed(*back_to_back(latency_us), latency_us, np.sort(latency_us))


def _seen(draw: Draw, runs: int, cases: int) -> str:
    rng = np.random.default_rng(runs)
    levels = beats = 0
    for _ in range(cases):
        rounds = [_timed(draw(rng, runs)) for _ in range(4)]
        levels += consensus_modes([modes(r.latency, r.ascending) for r in rounds]) is not None
        beats += stalls(rounds) is not None
    most = binomial_interval(levels, cases).high
    return f"{levels / cases:.1%} ({most:.1%}), {beats / cases:.1%}"


def _beat(stall_us: float, period_us: float, runs: int, cases: int) -> str:
    rng, errors = np.random.default_rng(int(period_us) + runs), []
    for _ in range(cases):
        plain = [25.0 * np.exp(0.05 * rng.standard_normal(runs)) for _ in range(4)]
        found = stalls([_timed(with_stalls(rng, one, stall_us, period_us)) for one in plain])
        if found is not None:
            errors.append(abs(found.period_ns / 1e3 / period_us - 1.0))
    return f"{len(errors) / cases:.0%} ({np.median(errors):.1%})" if errors else "0 %"


def _insights(
    means: Sequence[tuple[Case, float]], spread: float, kinds: set[str], seed: int, tries: int
) -> str:
    """In which share of tries an insight of these kinds is found in rows of such means."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(tries):
        rows = [drawn_row(case, mean_us, spread, rng) for case, mean_us in means]
        found += bool(kinds & {one.kind for one in find_insights(rows)})
    return f"{found / tries:.1%}"


_HURST, _WANDERING = 0.9, 0.02


def wandering(tries: int = 1000) -> None:
    """How often a machine with long memory is found: by one case's rounds, and by several cases.

    The best test of one case that is possible is there too: the likelihood ratio of fractional
    Gaussian noise of this exponent against independent rounds, with 5 % false alarms.
    """
    print(
        f"{tries} runs, H = {_HURST}, deviation {100 * _WANDERING:g} %: in how many, in %, one case"
    )
    print("is marked `rounds_correlated`, and the best possible test finds it; in brackets for")
    print("independent rounds\n")
    rng = np.random.default_rng(1)
    write_table(
        ("rounds", "marked", "best possible"), (_alone(rng, rounds, tries) for rounds in (5, 8, 16))
    )
    print(
        "\nnoticed by cases that are slow in the same passes, by 0.8 to 1.2 times what the machine"
    )
    print("changes by, and whose processes differ by 1 % besides\n")
    shapes = [(cases, rounds) for rounds in (5, 8) for cases in (2, 4, 8)]
    write_table(
        ("machine", *(f"{cases} cases, {rounds} rounds" for cases, rounds in shapes)),
        (
            (name, *(percent([_concordant(rng, *shape, levels, tries)]) for shape in shapes))
            for name, levels in _MACHINES.items()
        ),
    )


def _alone(rng: np.random.Generator, rounds: int, tries: int) -> tuple[int, str, str]:
    wanders = np.array([fractional_noise(rng, rounds, _HURST) for _ in range(tries)])
    marks = [
        float(np.mean([round_correlation(np.exp(_WANDERING * r)).is_significant for r in rows]))
        for rows in (wanders, rng.standard_normal((tries, rounds)))
    ]
    limit = np.quantile(_likelihood(rng.standard_normal((20_000, rounds))), 0.95)
    best = float(np.mean(_likelihood(wanders) > limit))
    return rounds, f"{percent(marks[:1])} ({percent(marks[1:])})", f"{percent([best])} (5)"


_MACHINES: Mapping[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "wanders": lambda rng, rounds: _WANDERING * fractional_noise(rng, rounds, _HURST),
    # 6 % slower in the end, with a time constant of a fifth to all of the run.
    "heats up": lambda rng, rounds: (
        0.06 * (1 - np.exp(-(np.arange(rounds) + rng.random()) / rounds / rng.uniform(0.2, 1.0)))
    ),
    # Two clocks, 25 % apart, each kept for three passes in the mean.
    "changes its clock": lambda rng, rounds: 0.22 * (np.cumsum(rng.random(rounds) < 0.3) % 2),
    "stays": lambda rng, rounds: np.zeros(rounds),
}


def _concordant(
    rng: np.random.Generator,
    cases: int,
    rounds: int,
    levels: Callable[[np.random.Generator, int], np.ndarray],
    tries: int,
) -> float:
    found = 0
    for _ in range(tries):
        own = 0.01 * rng.standard_normal((cases, rounds))
        shared = rng.uniform(0.8, 1.2, (cases, 1)) * levels(rng, rounds)
        one = concordance(np.exp(shared + own).tolist())
        found += one is not None and one.is_significant
    return found / tries


def _likelihood(logs: np.ndarray) -> np.ndarray:
    """Rises with the likelihood ratio, whatever the mean and the scale of each row [tries, n]."""
    rounds = logs.shape[1]
    lags = np.abs(np.subtract.outer(np.arange(rounds), np.arange(rounds))).astype(float)
    power = 2 * _HURST
    covariance = 0.5 * ((lags + 1) ** power - 2 * lags**power + np.abs(lags - 1) ** power)
    centring = np.eye(rounds) - 1.0 / rounds
    inverse = np.linalg.pinv(centring @ covariance @ centring)
    deviations = logs - logs.mean(axis=1, keepdims=True)
    squares: np.ndarray = np.einsum("ij,jk,ik->i", deviations, inverse, deviations)
    return -squares / np.square(deviations).sum(axis=1)
