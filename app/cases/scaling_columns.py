"""The columns that tell what several replicas serve together, against one of them."""

from __future__ import annotations

from app.cases.column import Column, number, text

SCALING = (
    text(
        "scaling_baseline_case_id",
        "Scaling baseline",
        "The case_id of the same case with one session and one stream, on its first device.",
        group="other",
    ),
    number(
        "replicas",
        "Replicas",
        "",
        "How many times as many runs are in flight as alone: sessions, streams, or both, on one "
        "device or on several.",
        group="settings",
    ),
    Column("speedup", "number", "Speedup", "Inputs in a second over those alone.", "", "higher"),
    Column(
        "scaling_efficiency",
        "number",
        "Efficiency",
        "The speedup over the replicas: 1 where each serves as much as one alone.",
        "",
        "higher",
    ),
    Column(
        "scaling_efficiency_ci_low",
        "number",
        "Efficiency from",
        "The lower end of its 95 % interval, from pairs of rounds.",
        "",
        "higher",
        group="confidence",
    ),
    Column(
        "scaling_efficiency_ci_high",
        "number",
        "Efficiency to",
        "The upper end of its 95 % interval.",
        "",
        "higher",
        group="confidence",
    ),
    text(
        "scaling_missing_reason",
        "Efficiency missing",
        "Why it is empty although the scaling baseline was measured.",
        group="confidence",
    ),
)
