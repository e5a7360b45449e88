"""The figures that verdicts can be given of, by their names in columns."""

from __future__ import annotations

from app.cases.percentiles import DEFAULT, name_of
from exporters.invalid_value import InvalidValue

MEAN, THROUGHPUT = "mean", "throughput"
JUDGED = ("p50", "p99")
"""The default: they are what latency is described by, and each further figure makes all verdicts
stricter, since they are judged together."""
HIGHER_IS_BETTER = (THROUGHPUT,)
_KEY = "metrics"
"""What these figures are called in plans and commands."""


def figures_judged(names: tuple[str, ...], percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The names as columns have them, `p999` of `p99.9`; InvalidValue for one that rows don't have.

    `percentiles` are those of the rows besides the default ones.
    """
    known = {MEAN, THROUGHPUT, *map(name_of, (*DEFAULT, *percentiles))}
    found = tuple(name.strip().replace(".", "", 1) for name in names)
    for name, written in zip(found, names, strict=True):
        if name not in known:
            raise InvalidValue(
                f"{_KEY} {written!r} is no figure of the rows",
                "give p50, p99, mean, throughput, or another percentile that is among percentiles",
                _KEY,
            )
        if found.count(name) > 1:
            raise InvalidValue(f"{_KEY} {written!r} is given twice", "give it once", _KEY)
    return found
