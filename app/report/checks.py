"""Will it run there: a table of models by runtimes, with a word for how each case ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.status import STATUSES
from app.console.checks import NOWHERE, summary, words
from app.present.html import safe, scrolled
from app.results.checking import matrix
from app.results.measured import Measured


def checks(measured: Sequence[Measured]) -> Iterator[str]:
    """The table; runtimes that are not on the machine have no column, their reason is told
    elsewhere."""
    here = [one for one in measured if one.row["status"] != NOWHERE]
    rows = [one.row for one in here]
    yield "<h2>Will it run there</h2>\n"
    yield f"<p>{safe(summary([one.row for one in measured]))}; compiled, and nothing timed.</p>\n"
    if not here:
        return
    found = matrix([one.case for one in here])
    tones = {
        found.places[str(row["case_id"])]: facts.tone
        for row in rows
        for name, facts in STATUSES.items()
        if name == row["status"]
    }
    yield scrolled("what compiles")
    yield '<table class="checks"><thead><tr><th scope="col">model</th>'
    yield from (f'<th scope="col">{safe(name)}</th>' for name in found.columns)
    yield "</tr></thead>\n<tbody>\n"
    for down, (name, cells) in enumerate(zip(found.rows, words(found, rows), strict=True)):
        yield f'<tr><th scope="row">{safe(name)}</th>'
        for across, cell in enumerate(cells):
            yield f'<td class="{tones.get((down, across), "")}">{safe(cell)}</td>'
        yield "</tr>\n"
    yield "</tbody></table></div>\n"
