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
        # A row whose figures do not count has the status `ok` and no tone of its own.
        tone = TONES.get(why.status, _BAD)
        yield Note(why.status.replace("_", " "), why.sentence, tone, why.status.replace(" ", "_"))
    if len(found) > MOST_CAUSES:
        yield Paragraph(f"... and {len(found) - MOST_CAUSES:,} more in results.csv")


def warning_paragraph(ended: EndedRun) -> Iterator[Paragraph]:
    """`warnings in 26 of 60 cases: Rounds differ (26), Outliers (12)`, with their codes."""
    counts = warning_counts(ended.rows)
    if not counts:
        return
    cases = sum(bool(row["warning_codes"]) for row in ended.rows)
    listed = ", ".join(f"{title} ({count:,})" for _, title, count in counts)
    yield Paragraph(
        f"warnings in {cases:,} of {len(ended.rows):,} cases: {listed}",
        counts=tuple((code, count) for code, _, count in counts),
    )


def warning_counts(rows: Iterable[Row]) -> list[tuple[str, str, int]]:
    """The code and title of each diagnostic and how many cases have it, the most frequent first."""
    counts = [
        (group.diagnostics[0].code, rendering.title(group.diagnostics[0]), len(group.case_ids))
        for group in warning_groups(rows)
    ]
    return sorted(counts, key=lambda entry: -entry[2])
