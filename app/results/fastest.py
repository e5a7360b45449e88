"""The fastest runtime of each model, and by how much: only like is compared with like.

What is compared shares model, sizes, precision, threads, scenario, concurrency, clock and
boundary; only the runtime and its options differ. One is called the fastest only where the
intervals of its median and of the next one's part, over at least three rounds each: fewer
can't tell how much processes differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.cases.columns import Row, Value
from app.results.labels import model_labels, unusual_options
from app.stats.quantiles import Interval
from app.stats.ratio import Figure, Ratio, ratio

LEAST_ROUNDS = 3
MOST_ROUNDS = 100
"""Beyond so many nobody would be told to measure: the two hardly differ."""
_LIKE = (
    "model",
    "axes",
    "precision",
    "threads",
    "scenario",
    "gap_us",
    "wait_policy",
    "concurrency",
    "given",
    "clock",
    "boundary",
)


@dataclass(frozen=True, slots=True)
class Fastest:
    """`first` and `second` are the two fastest, `times` the second's median over the first's.

    `what` is the model and whatever tells this comparison from the others. `rounds` is the
    smaller number of the two; `needed` is how many would part them, None where it is hopeless.
    """

    what: str
    first: str
    second: str
    times: Ratio
    rounds: int
    parted: bool
    needed: int | None
    simulated: bool


def fastest(rows: Iterable[Row]) -> list[Fastest]:
    """One for each set of alike rows in which at least two are well, in the plan's order."""
    alike: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        if row["status"] == "ok" and row["valid"] is not False and row["latency_p50_us"]:
            alike.setdefault(tuple(row[name] for name in _LIKE), []).append(row)
    compared = {key: group for key, group in alike.items() if len(group) > 1}
    names = _names(list(compared))
    return [_fastest(names[key], group) for key, group in compared.items()]


def _fastest(what: str, group: Sequence[Row]) -> Fastest:
    first, second = sorted(group, key=lambda row: _p50(row).value_us)[:2]
    a, b = _p50(first), _p50(second)
    rounds = min(int(first["rounds"] or 0), int(second["rounds"] or 0))
    known = a.interval_us is not None and b.interval_us is not None
    touching = not known or a.interval_us.high >= b.interval_us.low  # type: ignore[union-attr]
    return Fastest(
        what,
        _contender(first),
        _contender(second),
        ratio(a, b),
        rounds,
        rounds >= LEAST_ROUNDS and not touching,
        _needed(a, b, rounds),
        first["clock"] == "simulated",
    )


def _needed(a: Figure, b: Figure, rounds: int) -> int | None:
    """How many rounds would part the intervals, if they narrow with the root of their number."""
    if a.interval_us is None or b.interval_us is None:
        return LEAST_ROUNDS
    apart = math.log(b.value_us / a.value_us)
    reach = math.log(a.interval_us.high / a.value_us) + math.log(b.value_us / b.interval_us.low)
    if reach >= apart * math.sqrt(MOST_ROUNDS / max(rounds, 1)):
        return None
    return max(LEAST_ROUNDS, math.ceil(rounds * (reach / apart) ** 2))


def _p50(row: Row) -> Figure:
    low, high = row["latency_p50_ci_low_us"], row["latency_p50_ci_high_us"]
    known = isinstance(low, (int, float)) and isinstance(high, (int, float))
    interval = Interval(float(low), float(high)) if known else None  # type: ignore[arg-type]
    return Figure(float(row["latency_p50_us"] or 0.0), interval)


def _contender(row: Row) -> str:
    options = unusual_options(str(row["runtime"]), str(row["options"] or ""))
    return f"{row['runtime']} {options}".strip()


def _names(keys: Sequence[tuple[Value, ...]]) -> dict[tuple[Value, ...], str]:
    """The model of each comparison, and what sets it apart from the others."""
    models = model_labels(str(key[0]) for key in keys)
    differing = [place for place in range(1, len(_LIKE)) if len({key[place] for key in keys}) > 1]
    return {
        key: " · ".join(
            [models[str(key[0])], *(_word(_LIKE[p], key[p]) for p in differing if key[p])]
        )
        for key in keys
    }


def _word(name: str, value: Value) -> str:
    if name == "axes":
        return str(value).replace("=", " ")
    if name == "gap_us":
        return f"gap {value:g} µs"
    return str(value) if name in ("precision", "scenario", "clock") else f"{name} {value}"
