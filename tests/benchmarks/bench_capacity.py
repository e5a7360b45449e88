"""The highest rate that keeps a p99, found on the virtual clock, beside that of the formula."""

from __future__ import annotations

import math
import sys

from app.cases.target import Target
from app.stats.judging import cluster, requests_wanted
from tests.simulated.queues import exponential
from tests.simulated.servers import Server, search

UTILISATIONS = (0.5, 0.6, 0.7, 0.8, 0.9)
LONG, MOST = 200_000, 10_000
TRIES = 20


def main() -> None:
    """A Markdown table: by how much the quoted rates are off at most, and how many brackets hold
    the rate, in long rounds and in such as a sweep has."""
    sys.stdout.write("| M/M/1 at | rounds of | farthest off | brackets that hold it |\n")
    sys.stdout.write("| --- | --- | --- | --- |\n")
    for utilisation in UTILISATIONS:
        target = Target(99.0, math.log(100.0) / (1.0 - utilisation) * 1e3)
        wanted = requests_wanted(target, cluster(target, 1000.0, utilisation))
        for requests in (LONG, min(wanted, MOST)):
            server = Server(exponential, 1000.0, requests)
            found = [search(server, target, 1000 * seed)[0] for seed in range(TRIES)]
            off = [(one.middle_hz or 0.0) / (1000.0 * utilisation) - 1.0 for one in found]
            held = sum(
                (one.low_hz or 0.0) <= 1000.0 * utilisation <= (one.high_hz or math.inf)
                for one in found
            )
            farthest = max(off, key=abs)
            sys.stdout.write(
                f"| {utilisation} | {requests:,} | {farthest:+.1%} | {held} of {TRIES} |\n"
            )
            sys.stdout.flush()
