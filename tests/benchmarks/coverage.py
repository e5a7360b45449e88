"""Simulated and recorded runs: how often intervals, brackets and searches hold what is true."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from app.cases.case import Case
from app.cases.round import Limits
from app.cases.scenario import Scenario
from app.plan.plan import named_lengths
from app.stats.option_search.ablation import FINAL
from app.workers.open_loop import timed_schedule
from tests.app.stats.option_search import objectives
from tests.app.stats.option_search.random_search import every_case, random_search
from tests.benchmarks.loads import LOADS, loaded_run
from tests.benchmarks.stretches import (
    RECORDINGS,
    Recording,
    choices_of,
    contains,
    marked_share,
    read_recording,
    schedule_choices,
    shares_held,
    wrong_verdicts,
)
from tests.benchmarks.tables import percent, write_table
from tests.simulated import queues
from tests.simulated.clocks import (
    ALWAYS,
    ANY_WORK,
    CLOCKS,
    NEVER,
    SHARED,
    apart,
    counted,
    shared,
)
from tests.simulated.held_out import HELD_OUT
from tests.simulated.machine_coverage import BOUNDED, FIGURES, MLPERF, RUNS, Count, covered
from tests.simulated.machines import MACHINES
from tests.simulated.servers import SERVERS, Server, search
from tests.simulated.stopping import DISTURBED, STREAMS, stopped


def intervals(tries: int = 300) -> None:
    """Intervals on the kinds that the method was tried on, on those held out, and all bounds."""
    print(f"{tries} tries a cell, rounds of {RUNS:,} runs: {', '.join(FIGURES)} of unmarked")
    print(
        "intervals, in % of these; in brackets without one or marked for correlation, in % of tries"
    )
    numbers, bounds = (3, 5, 8, 10), []
    for machines in (MACHINES, HELD_OUT):
        rows = []
        for machine in machines:
            counts = {rounds: covered(machine, rounds, tries) for rounds in numbers}
            cells = [", ".join(_share(by[name]) for name in FIGURES) for by in counts.values()]
            widths = ", ".join(_percent(counts[8][name].half_width, 1) for name in FIGURES)
            rows.append((machine.name, *cells, widths))
            bounded = [
                ", ".join(_share(counts[n][f"{name} bound"]) for name in BOUNDED) for n in (5, 8)
            ]
            bounds.append((machine.name, *bounded, _share(counts[8][MLPERF])))
        print()
        heads = [f"{rounds} rounds" for rounds in numbers]
        write_table(("machine", *heads, "half width, % at 8"), rows)
    print()
    write_table(("machine", "5 rounds", "8 rounds", "MLPerf, 8 rounds"), bounds)


def _share(count: Count) -> str:
    if count.unmarked < count.tries / 10:
        return "-"
    withheld_percent = round(100 * count.withheld)
    return _percent(count.share, 0) + (f" ({withheld_percent})" if withheld_percent else "")


def _percent(share: float, digits: int) -> str:
    return "-" if math.isnan(share) else percent([share], digits)


def spread(tries: int = 60) -> None:
    """What eight rounds hold of half an hour, over a short time and over a longer beside load."""
    lengths, rows = named_lengths()["standard"], []
    for name in LOADS:
        short, _ = _coverage(name, lengths.spread_s, 0.0, tries)
        standard, span_s = _coverage(name, lengths.spread_s, lengths.contended_spread_s, tries)
        rows.append((name, percent(short), percent(standard), f"{span_s / 60:.0f} min"))
    write_table(("machine", "2 min: p50, p99, mean", "`standard`", "takes"), rows)


_SPREAD_FIGURES = ("p50", "p99", "mean")


def _coverage(
    name: str, spread_s: float, contended_s: float, runs: int
) -> tuple[list[float], float]:
    """By figure, in which share of choices from so many runs the interval contains that of the
    whole run; and the median time between the first and the last round."""
    rng = np.random.default_rng(len(name))
    hits: list[list[bool]] = [[] for _ in _SPREAD_FIGURES]
    spans_s = []
    for _ in range(runs):
        run = loaded_run(rng, LOADS[name])
        choices = list(schedule_choices(run, 8, spread_s, contended_s))
        for place in rng.integers(0, len(choices), 5).tolist():
            rounds = choices[place]
            spans_s.append(float(run.begun_s[rounds[-1]] - run.begun_s[rounds[0]]))
            for hit, figure in zip(hits, _SPREAD_FIGURES, strict=True):
                hit += [contains(run, case, figure, rounds) for case in run.cases]
    return [float(np.mean(hit)) for hit in hits], median(spans_s)


def stopping(tries: int = 300) -> None:
    """How often the interval that ends a case of `--ci-width` holds the truth, at half, once and
    twice the width that suits a stream."""
    rows = []
    for target in (*STREAMS, *DISTURBED):
        shares = [target.share * factor for factor in (0.5, 1.0, 2.0)]
        ends = [stopped(replace(target, share=share), tries) for share in shares]
        rows.append((
            f"{target.stream.name}, p{100 * target.quantile:g}",
            ", ".join(f"{100 * share:.2g}" for share in shares),
            percent(end.held / max(end.claimed, 1) for end in ends),
            ", ".join(f"{median(end.ends):g}" for end in ends),
            percent(end.narrow / tries for end in ends),
        ))  # fmt: skip
    write_table(("stream", "width, %", "held", "rounds, median", "narrow at the end"), rows)


def clock(tries: int = 300) -> None:
    """How often the p50s at the typical clock and alone on a core are told, and their intervals
    hold, by what the clock does, how many rounds there are, and how the core is shared."""
    for rounds in (3, 5, 8):
        rows = []
        for name, course in CLOCKS.items():
            found = [counted(course, one, tries, len(name), rounds) for one in ANY_WORK.values()]
            told = (percent([one.followed / tries]) for one in found)
            held = (percent([one.held / tries]) for one in found)
            rows.append((name, *map("; ".join, zip(told, held, strict=True))))
        print(f"{rounds} rounds: told to follow the clock, and the interval held, in %\n")
        write_table(("clock", *ANY_WORK), rows)
    rows = []
    for name, course in CLOCKS.items():
        same, more = (
            [apart(course, one, change, tries, len(name)) for one in ANY_WORK.values()]
            for change in (0.0, 0.2)
        )
        rows.append(
            (
                name,
                *(
                    f"{a['slower'] + a['faster']} of {a.total()}; {b['slower']} of {b.total()}"
                    for a, b in zip(same, more, strict=True)
                ),
            )
        )
    print("\ntwo runs in cycles, at clocks up to 12 % apart: wrong verdicts, and 20 % more found\n")
    write_table(("clock", *ANY_WORK), rows)
    rows = []
    for name, spells_s in {**SHARED, "always": ALWAYS, "never": NEVER}.items():
        one = shared(spells_s, tries, len(name))
        rows.append((name, percent([one.followed / tries, one.held / max(one.followed, 1)])))
    print("\na core that is shared: told, and of these the interval held, in %\n")
    write_table(("shared", "told, held"), rows)


def stretches(runs: Sequence[Recording] = ()) -> None:
    """What eight rounds of three recorded runs contain (the least case, the mean of the cases),
    and wrong verdicts between their stretches, in percent."""
    runs = runs or [read_recording(path) for path in RECORDINGS]
    choices = [choices_of(run) for run in runs]
    rows: list[Sequence[object]] = []
    for name in _SPREAD_FIGURES:
        for number, run in enumerate(runs):
            held = [list(shares_held(run, name, c).values()) for c in choices[number].values()]
            cells = [percent((min(shares), float(np.mean(shares)))) for shares in held]
            rows.append((name, number + 1, *cells))
    for number, run in enumerate(runs):
        marks = [percent([marked_share(run, choice)]) for choice in choices[number].values()]
        rows.append(("marked `rounds_close_in_time`", number + 1, *marks))
    write_table(("figure", "run", *choices[0]), rows)
    print()
    sources = {"rounds alone": "none", "stated": "stated", "history": "history"}
    write_table(
        ("figure, rounds", *sources),
        (
            (f"{name}, {rounds}", *(_wrong(runs, name, s, rounds) for s in sources.values()))
            for name in _SPREAD_FIGURES
            for rounds in (4, 8, 16)
        ),
    )


def _wrong(runs: Sequence[Recording], name: str, source: str, rounds: int) -> str:
    counts = [wrong_verdicts(run, name, source, rounds) for run in runs]
    if all(count.undecided == count.comparisons for count in counts):
        return "unknown"
    return percent((count.share for count in counts), 1)


def capacity(tries: int = 40) -> None:
    """Searches for the highest rate on the virtual clock, beside the rate that is true there: how
    far the estimates are off, how often the promised rate is more than the server holds and by how
    much at most, the medians of how much less it is, of how wide the bracket is and of the rounds.
    In the last rows rounds of one number meet the same gaps at every rate."""
    write_table(
        (
            "server",
            "p99 at most",
            "true rate",
            "utilisation",
            "estimate, bias %",
            "sd %",
            "promise above the truth",
            "at most %",
            "shortfall %",
            "bracket %",
            "rounds",
        ),
        (_searched(server, common, tries) for common in (False, True) for server in SERVERS),
    )


def _searched(server: Server, common: bool, tries: int) -> Sequence[object]:
    true_hz = server.true_hz()
    best, low, width, rounds = [], [], [], []
    for seed in range(tries):
        bracket, searched = search(server, seed, common=common)
        estimate = searched.estimate()
        assert estimate is not None
        best.append(estimate.best_hz / true_hz - 1.0)
        low.append((bracket.low_hz or 0.0) / true_hz - 1.0)
        width.append((bracket.high_hz or math.inf) / (bracket.low_hz or 1e-9) - 1.0)
        rounds.append(searched.spent)
    return (
        server.name + ", common gaps" * common,
        f"{server.limit:g} services",
        f"{true_hz:.0f}/s",
        f"{true_hz / server.capacity_hz:.2f}",
        f"{100 * np.mean(best):+.1f}",
        f"{100 * np.std(best, ddof=1):.1f}",
        f"{sum(error > 0 for error in low)} of {tries}",
        f"{100 * max(low):+.1f}",
        f"{-100 * np.median(low):.1f}",
        f"{100 * np.median(width):.1f}",
        f"{np.median(rounds):.0f}",
    )


_P99 = 22.897
"""Services that a request of M/D/1 at 0.9 takes, by the distribution of A. K. Erlang, 1909."""


def queueing(tries: int = 200) -> None:
    """Queues on the virtual clock beside their formulas: by how much each seed's mean wait of
    10,000 arrivals for each try is off, in percent, and what eight rounds of M/D/1 at 0.9 show of
    its tail, without a start and with one."""
    count, seeds = 10_000 * tries, range(4)
    rows: list[Sequence[object]] = []
    for utilisation in queues.UTILISATIONS:
        for name, formula_ns, servers in (
            ("M/M/1", queues.pollaczek_khinchine_ns(utilisation, 1.0), 1),
            ("M/D/1", queues.pollaczek_khinchine_ns(utilisation, 0.0), 1),
            ("M/D/2", queues.crommelin_ns(utilisation, 2), 2),
        ):
            errors = []
            for seed in seeds:
                arrivals = queues.poisson(utilisation, servers, count, seed)
                is_markov = name == "M/M/1"
                service = (
                    queues.exponential(count, seed + 100) if is_markov else queues.constant(count)
                )
                waits_ns = queues.simulate_queue(arrivals, service, servers).queue_ns
                errors.append(f"{100 * (waits_ns.mean() / formula_ns - 1):+.2f}")
            rows.append((name, utilisation, f"{formula_ns / 1e6:.4f} ms", *errors))
    write_table(("queue", "utilisation", "formula", *(f"seed {seed}" for seed in seeds)), rows)
    print()
    write_table(
        ("M/D/1 at 0.9, rounds of", "start", "beyond p99", "p99 of rounds", "p99 of all"),
        (
            (f"{requests:,}", name, *_tail(requests, hz, tries))
            for requests in (1_000, 3_000, 10_000, 40_000)
            for name, hz in (("empty", 0.0), ("discarded", 1e9 / queues.SERVICE_NS))
        ),
    )


def _tail(requests: int, capacity_hz: float, tries: int) -> list[str]:
    """The share of requests beyond the true p99, and by how much the p99 of runs is off: the
    geometric mean of the rounds' own, and that of all requests together."""
    scenario = Scenario("poisson", rate_hz=0.9e9 / queues.SERVICE_NS)
    limits = Limits(min_s=0.0, max_s=1e9, min_samples=requests)
    shares, typical, pooled = [], [], []
    for run in range(tries):
        rounds = []
        for seed in range(8 * run, 8 * run + 8):
            schedule = timed_schedule(scenario, limits, seed, None, capacity_hz)
            service = queues.constant(len(schedule.offsets_ns))
            samples = queues.simulate_queue(schedule.offsets_ns, service)
            rounds.append(samples.latency_ns[schedule.start_requests :] / queues.SERVICE_NS)
        shares.append(np.mean([np.mean(latencies > _P99) for latencies in rounds]))
        typical.append(np.exp(np.mean([np.log(np.quantile(x, 0.99)) for x in rounds])))
        pooled.append(np.quantile(np.concatenate(rounds), 0.99))
    errors = (100 * (np.mean(p99) / _P99 - 1) for p99 in (typical, pooled))
    return [f"{100 * np.mean(shares):.2f} %", *(f"{error:+.1f} %" for error in errors)]


def tuner(tries: int = 40) -> None:
    """The search over options beside random search with as many rounds: the mean true cost of what
    each ends with, over that of the default; the rounds of choosing in the median; in how many
    searches the final rounds claim a gain, and where its whole interval is beyond the true one."""
    kinds: tuple[tuple[str, Callable[[int], Callable[[Case], float]], float, bool], ...] = (
        ("separable", lambda seed: objectives.separable, 0.03, False),
        ("separable", lambda seed: objectives.separable, 0.1, False),
        ("separable, unlucky processes", lambda seed: objectives.separable, 0.03, True),
        ("entangled", lambda seed: objectives.entangled, 0.03, False),
        ("small effects", objectives.small_effects, 0.03, False),
        ("small effects, unlucky processes", objectives.small_effects, 0.03, True),
        ("rugged", objectives.rugged, 0.03, False),
        ("no effect", lambda seed: objectives.flat, 0.03, False),
    )
    write_table(
        (
            "objective",
            "rounds differ by",
            "best possible",
            "search",
            "random",
            "rounds to choose",
            "claims a gain",
            "claims too much",
        ),
        ((kind[0], f"{100 * kind[2]:g} %", *_tuned(*kind[1:], tries)) for kind in kinds),
    )


def _tuned(
    objective: Callable[[int], Callable[[Case], float]], by: float, unlucky: bool, tries: int
) -> Sequence[object]:
    space = objectives.space_of()
    cases = every_case(space)
    best, found, drawn, rounds = [], [], [], []
    claims = false = 0
    for seed in range(tries):
        cost_of = objective(seed)
        default = cost_of(space.base)
        best.append(min(map(cost_of, cases)) / default)
        simulation = objectives.Simulated(cost_of, seed, by, unlucky=unlucky)
        candidate, ladder, _ = objectives.played(space, simulation)
        found.append(cost_of(candidate.lead) / default)
        rounds.append(sum(number < FINAL for _, number in simulation.measured))
        again = objectives.Simulated(cost_of, seed, by, unlucky=unlucky)
        drawn.append(cost_of(random_search(cases, again, rounds[-1])) / default)
        total = ladder.winner.default
        if total is not None and total.word == "faster" and total.interval is not None:
            claims += 1
            false += total.interval.high < found[-1]
    means = [f"{np.mean(costs):.3f}" for costs in (best, found, drawn)]
    return *means, f"{np.median(rounds):.0f}", f"{claims} of {tries}", f"{false} of {tries}"
