"""Two runs beside each other, as a section of a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from app.console.verdicts import comparison_blocks
from app.present.document import Heading
from app.present.html import as_html
from app.results.compare import RunSide, compare_runs
from app.results.labels import model_labels


def comparison(before: RunSide, after: RunSide) -> Iterator[str]:
    """The section; where the runs share no case, it says so."""
    names = model_labels((before.name, after.name))  # of paths, as those of models
    first, second = names[before.name], names[after.name]
    found = replace(compare_runs(before, after), first=first, second=second)
    yield "<section>\n"
    yield from as_html([Heading(f"{second} against {first}"), *comparison_blocks(found)])
    yield "</section>\n"
