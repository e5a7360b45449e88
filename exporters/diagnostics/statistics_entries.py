"""Diagnostics of the samples themselves: what their statistics show."""

from __future__ import annotations

from exporters.diagnostics.entry import Entries, Entry
from exporters.diagnostics.units import NUMBER, RATIO, SHARE, Choice, Count, Name

_OTHER_WORK = "Stop other work on this machine."

STATISTICS: Entries = {
    "few_runs": Entry(
        title="Too few runs for a median",
        message="Only {runs}: the fastest and the slowest contain the median with {confidence} "
        "confidence; 95 % needs {more} more.",
        condition="A case has fewer runs than a 95 % interval of the median needs.",
        action="Use --preset standard, or more --rounds.",
        units={"runs": Count("run"), "confidence": SHARE, "more": Count()},
        example={"runs": 4, "confidence": 0.875, "more": 2},
    ),
    "rounds_differ": Entry(
        title="Rounds differ",
        message="The medians of the rounds differ by {spread}, so a single round is not "
        "representative.",
        condition="The largest median of a round exceeds the smallest by more than 5 %.",
        action="Use more --rounds, or a quieter machine.",
        units={"spread": SHARE},
        example={"spread": 0.12},
    ),
    "rounds_correlated": Entry(
        title="Rounds correlate",
        message="Neighbouring rounds resemble each other: the {figure} of {rounds} has a lag-1 "
        "correlation of {correlation}. The speed of the machine wanders, so the intervals may be "
        "too narrow.",
        condition="The rounds' own p50 or p99 correlate at lag 1 by more than independent rounds "
        "do in 97 of 100 cases.",
        action="Spread the rounds over a longer time.",
        units={"figure": Name("figure"), "rounds": Count("round"), "correlation": NUMBER},
        example={"figure": "p50", "rounds": 16, "correlation": 0.62},
    ),
    "outliers": Entry(
        title="Outliers",
        message="{share} of the runs lie beyond Q3 + 3 IQR of their round. Other programs were "
        "probably running; the tail is unreliable.",
        condition="More than 1 % of the runs are slower than the third quartile of their round "
        "plus three interquartile ranges.",
        action=_OTHER_WORK,
        units={"share": SHARE},
        example={"share": 0.013},
    ),
    "far_tail": Entry(
        title="Far tail",
        message="The p99 is {ratio} the p50: something slows a few runs a lot.",
        condition="The p99 exceeds ten times the p50, and no more than 1 % of the runs are "
        "outliers.",
        action="Stop other work on this machine, or see whether the time of the graph depends on "
        "its inputs.",
        units={"ratio": RATIO},
        example={"ratio": 14.0},
    ),
    "latency_drift": Entry(
        title="Latency drift",
        message="In {rounds} of {timed} the latency {direction} by up to {change}.",
        condition="Within a round the latency rises, falls or shifts by more than 2 %, and by more "
        "than noise explains.",
        action="Wait until the machine is idle, or use more --rounds.",
        units={
            "rounds": Count(),
            "timed": Count("round"),
            "change": SHARE,
            "direction": Choice({"up": "rose", "down": "fell", "shift": "shifted"}),
        },
        example={"rounds": 2, "timed": 6, "change": 0.04, "direction": "shift"},
    ),
}
