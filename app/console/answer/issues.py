"""What is wrong with a run: why cases have no figures, and warnings as counts by their kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.console.answer.ended import EndedRun
from app.console.said import whys
from app.present.document import Block, Note, Paragraph, Tone
from app.results.measured import Measured
from app.results.warned import joined, sentences, warned
from exporters.diagnostics import rendering
from exporters.diagnostics.groups import grouped

MOST_CAUSES = 8
_BAD: Tone = "bad"


def cause_notes(ended: EndedRun) -> Iterator[Block]:
    """Of each cause why cases have no figures, or none that count, whose it is and what it is."""
    found = whys(ended.rows, ended.cases)
    for why in found[:MOST_CAUSES]:
        label = {"cancelled": "not run"}.get(why.status, why.status.replace("_", " "))
        tone: Tone = "doubtful" if why.status in ("unavailable", "unsupported") else _BAD
        yield Note(label, why.sentence, tone)
    if len(found) > MOST_CAUSES:
        yield Paragraph(f"... and {len(found) - MOST_CAUSES:,} more in results.csv")


def warning_line(ended: EndedRun) -> str:
    """`warnings in 26 of 60 cases: Rounds differ (26), Outliers (12)`; "" where there are none."""
    counts = warning_counts(ended.measured)
    if not counts:
        return ""
    cases = sum(bool(row["warnings"]) for row in ended.rows)
    told = ", ".join(f"{title} ({count:,})" for title, count in counts)
    return f"warnings in {cases:,} of {len(ended.rows):,} cases: {told}"


def warning_counts(measured: Sequence[Measured]) -> list[tuple[str, int]]:
    """The title of each kind of warning and how many cases have it, the most frequent first.

    The statistics' own have codes; of the others the first clause is the title.
    """
    coded = [
        (one.case.case_id, one.summary.warnings) for one in measured if one.summary is not None
    ]
    counts = [
        (rendering.title(group.diagnostics[0]), len(group.case_ids)) for group in grouped(coded)
    ]
    known = {
        sentence
        for _, diagnostics in coded
        for sentence in sentences(joined(map(rendering.text, diagnostics)))
    }
    others = [
        {
            "case_id": one.case.case_id,
            "warnings": "; ".join(
                sentence for sentence in sentences(one.row["warnings"]) if sentence not in known
            ),
        }
        for one in measured
    ]
    counts += [(_title(kind.sentence), len(kind.case_ids)) for kind in warned(others)]
    return sorted(counts, key=lambda pair: -pair[1])


def _title(sentence: str) -> str:
    return sentence.partition(": ")[0].partition(". ")[0]
