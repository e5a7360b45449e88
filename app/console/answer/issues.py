"""What is wrong with a run: why cases have no figures, and warnings as counts by their kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.cases.column import Row
from app.cases.status import TONES
from app.console.answer.ended import EndedRun
from app.console.said import whys
from app.present.document import Block, Note, Paragraph, Tone
from app.results.diagnostic_columns import warning_groups
from exporters.diagnostics import rendering

MOST_CAUSES = 8
_BAD: Tone = "error"


def cause_notes(ended: EndedRun) -> Iterator[Block]:
    """Of each cause why cases have no figures, or none that count, whose it is and what it is."""
    found = whys(ended.rows, ended.cases)
    for why in found[:MOST_CAUSES]:
        yield Note(why.status.replace("_", " "), why.sentence, TONES[why.status])
    if len(found) > MOST_CAUSES:
        yield Paragraph(f"... and {len(found) - MOST_CAUSES:,} more in results.csv")


def warning_line(ended: EndedRun) -> str:
    """`warnings in 26 of 60 cases: Rounds differ (26), Outliers (12)`; "" where there are none."""
    counts = warning_counts(ended.rows)
    if not counts:
        return ""
    cases = sum(bool(row["warning_codes"]) for row in ended.rows)
    told = ", ".join(f"{title} ({count:,})" for title, count in counts)
    return f"warnings in {cases:,} of {len(ended.rows):,} cases: {told}"


def warning_counts(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """The title of each diagnostic and how many cases have it, the most frequent first."""
    counts = [
        (rendering.title(group.diagnostics[0]), len(group.case_ids))
        for group in warning_groups(rows)
    ]
    return sorted(counts, key=lambda pair: -pair[1])
