"""Diagnostics of the measurement protocol: rounds, load and conditions, and what the statistics of
the samples show.
"""

from __future__ import annotations

from exporters.diagnostics.diagnostic import (
    HERTZ,
    MESSAGE,
    MICROSECONDS,
    NAME,
    NUMBER,
    RATIO,
    SECONDS,
    SHARE,
    Choice,
    Count,
    Entries,
    Entry,
    ExitCode,
    Name,
)

_RESUME = "Resume the run (graphlap resume)."

_SERVE_SOONER = Choice(
    {
        "sleep": "Use --idle-policy spin, or a quieter machine.",
        "hybrid": "Use --idle-policy spin, or a quieter machine.",
        "spin": "Use a lower rate, or a quieter machine.",
    }
)

_WAKE_SOONER = Choice(
    {
        "sleep": "Use --idle-policy spin or hybrid: a sleeping thread is woken late.",
        "hybrid": "Use --idle-policy spin, or a quieter machine.",
        "spin": "Use a longer gap, or a quieter machine.",
    }
)

ROUNDS: Entries = {
    "few_rounds": Entry(
        title="Too few rounds",
        message="With {rounds} the variation between processes is unknown; comparisons have no "
        "verdict.",
        condition="A case was measured in fewer than 3 rounds.",
        action="Use --rounds 3 or more.",
        parameters={"rounds": (Count("round"), 2)},
    ),
    "rounds_missing": Entry(
        title="Rounds missing",
        message="{measured} of {planned} were measured.",
        condition="A run ended before a case had all its rounds.",
        action=_RESUME,
        parameters={"measured": (Count(), 3), "planned": (Count("round"), 5)},
    ),
    "samples_damaged": Entry(
        title="Samples damaged",
        message="The samples of round {round} do not count, since their file {damage}.",
        condition="A file of samples differs from the record in the journal.",
        action=_RESUME,
        parameters={
            "round": (Count(), 2),
            "damage": (
                Choice(
                    {
                        "checksum": "is not what was measured: its checksum differs",
                        "phases": "has other measured runs than the journal counted",
                        "extent": "has times that are further apart than a round can last",
                        "order": "has runs that end before they start",
                        "lanes": "has lanes that the case does not have",
                    }
                ),
                "checksum",
            ),
        },
    ),
    "samples_cut": Entry(
        title="Samples cut short",
        message="The samples of round {round} do not count, since their file holds {held} of "
        "{expected}.",
        condition="A file of samples is shorter than the journal records.",
        action=_RESUME,
        parameters={
            "round": (Count(), 2),
            "held": (Count(), 100),
            "expected": (Count("sample"), 5000),
        },
    ),
    "samples_unreadable": Entry(
        title="Samples unreadable",
        message="The samples of round {round} do not count, since their file can't be read "
        "({error}).",
        condition="A file of samples is gone, or the system refuses to read it.",
        action="Put it back, or resume the run (graphlap resume).",
        parameters={"round": (Count(), 2), "error": (MESSAGE, "No such file or directory")},
    ),
    "row_unreadable": Entry(
        title="Row cannot be computed",
        message="The figures cannot be computed: {error}.",
        condition="A file that a row is made of cannot be read.",
        severity="error",
        parameters={"error": (MESSAGE, "samples/mlp.0.bin is gone")},
    ),
    "mixed_graphs": Entry(
        title="Rounds of different graphs",
        message="The rounds measured {count} (sha256 {graphs}): the figures belong to none.",
        condition="The model changed between two rounds of a case.",
        action="Measure the case in a new run.",
        severity="error",
        parameters={"count": (Count("graph"), 2), "graphs": (NAME, ("1f2e3d4c", "5b6a7988"))},
    ),
    "no_steady_state": Entry(
        title="No steady state",
        message="The medians still changed after {warmup_s} of warm-up.",
        condition="Ten windows of warm-up never agreed before its time was over.",
        action="Use a quieter machine, or --preset standard.",
        parameters={"warmup_s": (SECONDS, 3.0)},
    ),
    "interval_not_reached": Entry(
        title="Requested interval not reached",
        message="The interval of {percentile} is ±{reached} after {rounds}; ±{requested} was "
        "requested.",
        condition="--ci-width was given, and the most rounds there may be did not suffice.",
        action="Use more --rounds, or a quieter machine.",
        parameters={
            "percentile": (NAME, "p99"),
            "reached": (SHARE, 0.04),
            "rounds": (Count("round"), 40),
            "requested": (SHARE, 0.01),
        },
    ),
    "interval_unavailable": Entry(
        title="No interval for the requested precision",
        message="{percentile} has no interval after {rounds}; ±{requested} was requested.",
        condition="--ci-width was given, and the rounds support no interval of the percentile.",
        action="Use a longer --preset, or more --rounds.",
        parameters={
            "percentile": (NAME, "p99"),
            "rounds": (Count("round"), 40),
            "requested": (SHARE, 0.01),
        },
    ),
    "rounds_cut_short": Entry(
        title="Rounds cut short",
        message="{rounds} ended before the requested {seconds} were over.",
        condition="A sustained round lasted less than 95 % of its duration.",
        parameters={"rounds": (Count("round"), 1), "seconds": (SECONDS, 600.0)},
    ),
}

LOAD: Entries = {
    "overloaded": Entry(
        title="Overloaded",
        message="{offered_hz} were offered and {served_hz} served; {left} were left waiting. The "
        "latency grows for as long as the load lasts.",
        condition="An open loop serves fewer requests than arrive.",
        action="Use a lower rate, more sessions, or larger batches.",
        severity="error",
        parameters={
            "offered_hz": (HERTZ, 1000.0),
            "served_hz": (HERTZ, 250.0),
            "left": (Count("request"), 3000),
        },
    ),
    "load_generator_late": Entry(
        title="Load generator late",
        message="The load generator was late by {late_us} at {percentile}, of a latency of "
        "{latency_us}.",
        condition="The lateness of the generator exceeds 10 % of the latency at p50 or p99.",
        action="{wait_policy}",
        severity="error",
        parameters={
            "percentile": (NAME, "p99"),
            "late_us": (MICROSECONDS, 80.0),
            "latency_us": (MICROSECONDS, 480.0),
            "wait_policy": (_SERVE_SOONER, "sleep"),
        },
    ),
    "pause_not_met": Entry(
        title="Pauses longer than requested",
        message="The median pause was {actual_us}; {requested_us} was requested.",
        condition="The median pause exceeds the requested one by more than 10 % and 1 µs.",
        action="{wait_policy}",
        parameters={
            "actual_us": (MICROSECONDS, 1150.0),
            "requested_us": (MICROSECONDS, 1000.0),
            "wait_policy": (
                _WAKE_SOONER,
                "sleep",
            ),
        },
    ),
}

CONDITIONS: Entries = {
    "private_caches_warm": Entry(
        title="Caches of other cores stayed warm",
        message="One thread evicts the caches, so those private to other cores stayed warm.",
        condition="A case with cold caches has more than one thread.",
        action="Use --threads 1.",
    ),
    "device_caches_warm": Entry(
        title="Caches of the device stayed warm",
        message="The caches of the host were evicted, the caches of the device were not.",
        condition="A case with cold caches runs on an accelerator.",
        action="Use --condition cold-l2 for the L2 cache of an NVIDIA GPU.",
        severity="info",
    ),
    "neighbour_ended": Entry(
        title="Co-located load ended",
        message="The co-located load {subject} ended within the round ({exit_code}): the round is "
        "not valid.",
        condition="The process of the co-located load died.",
        severity="error",
        parameters={"exit_code": (ExitCode(), -9)},
        example_subject="mlp",
    ),
    "neighbour_failed": Entry(
        title="Co-located load failed",
        message="The co-located load {subject} worked for only {share} of the round: {error}.",
        condition="The co-located load stopped with an error.",
        severity="error",
        parameters={"share": (SHARE, 0.4), "error": (MESSAGE, "the device is lost")},
        example_subject="mlp",
    ),
    "neighbour_idle": Entry(
        title="Co-located load too idle",
        message="The co-located load {subject} worked for only {share} of the round: the round "
        "is not valid.",
        condition="The co-located load ran for less than 90 % of the measured time.",
        action="Stop other work on this machine, or use fewer --threads.",
        severity="error",
        parameters={"share": (SHARE, 0.4)},
        example_subject="mlp",
    ),
}

IMPORTS: Entries = {
    "warm_up_included": Entry(
        title="Warm-up among the runs",
        message="This release of {subject} lists its warm-up among the runs without marking it, "
        "so the figures differ from its own.",
        condition="A file of trtexec is of a release that does not mark its warm-up.",
        action="Use a newer release.",
        example_subject="trtexec",
    ),
    "samples_are_means": Entry(
        title="Samples are means of several calls",
        message="Each sample is the mean of several calls, so its spread and percentiles "
        "do not apply to single calls.",
        condition="An imported file has timings of several calls together.",
        action="Use the mean.",
    ),
    "figures_rounded": Entry(
        title="Rounded figures",
        message="The file of {subject} rounds latencies to {step_us}, a large part of these.",
        condition="The smallest imported latency is not far above the rounding of its file.",
        action="Take the figures that the program prints.",
        parameters={"step_us": (MICROSECONDS, 10.0)},
        example_subject="benchmark_app",
    ),
}


_OTHER_WORK = "Stop other work on this machine."

STATISTICS: Entries = {
    "few_runs": Entry(
        title="Too few runs for a median",
        message="Only {runs}: the fastest and the slowest contain the median with {confidence} "
        "confidence; 95 % needs {more} more.",
        condition="A case has fewer runs than a 95 % interval of the median needs.",
        action="Use --preset standard, or more --rounds.",
        parameters={"runs": (Count("run"), 4), "confidence": (SHARE, 0.875), "more": (Count(), 2)},
    ),
    "rounds_differ": Entry(
        title="Rounds differ",
        message="The medians of the rounds differ by {spread}, so a single round is not "
        "representative.",
        condition="The largest median of a round exceeds the smallest by more than 5 %.",
        action="Use more --rounds, or a quieter machine.",
        parameters={"spread": (SHARE, 0.12)},
    ),
    "rounds_correlated": Entry(
        title="Rounds correlate",
        message="Neighbouring rounds resemble each other: the {figure} of {rounds} has a lag-1 "
        "correlation of {correlation}. The speed of the machine wanders, so the intervals may be "
        "too narrow.",
        condition="The rounds' own p50 or p99 correlate at lag 1 by more than independent rounds "
        "do in 97 of 100 cases.",
        action="Spread the rounds over a longer time.",
        parameters={
            "figure": (Name("figure"), "p50"),
            "rounds": (Count("round"), 16),
            "correlation": (NUMBER, 0.62),
        },
    ),
    "outliers": Entry(
        title="Outliers",
        message="{share} of the runs lie beyond Q3 + 3 IQR of their round. Other programs were "
        "probably running; the tail is unreliable.",
        condition="More than 1 % of the runs are slower than the third quartile of their round "
        "plus three interquartile ranges.",
        action=_OTHER_WORK,
        parameters={"share": (SHARE, 0.013)},
    ),
    "far_tail": Entry(
        title="Far tail",
        message="The p99 is {ratio} the p50: something slows a few runs a lot.",
        condition="The p99 exceeds ten times the p50, and no more than 1 % of the runs are "
        "outliers.",
        action="Stop other work on this machine, or see whether the time of the graph depends on "
        "its inputs.",
        parameters={"ratio": (RATIO, 14.0)},
    ),
    "latency_drift": Entry(
        title="Latency drift",
        message="In {rounds} of {timed} the latency {direction} by up to {change}.",
        condition="Within a round the latency rises, falls or shifts by more than 2 %, and by more "
        "than noise explains.",
        action="Wait until the machine is idle, or use more --rounds.",
        parameters={
            "rounds": (Count(), 2),
            "timed": (Count("round"), 6),
            "change": (SHARE, 0.04),
            "direction": (Choice({"up": "rose", "down": "fell", "shift": "shifted"}), "shift"),
        },
    ),
}
