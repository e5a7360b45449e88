"""Two runs beside each other, in the words of the verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app.cases.percentiles import shown
from app.report.shown import safe, scrolled
from app.results import text
from app.results.compare import RunSide, compare_runs
from app.results.verdicts import interval_note


def comparison(before: RunSide, after: RunSide) -> Iterator[str]:
    """A section of the page; where the runs share no case, a sentence."""
    found = compare_runs(before, after)
    first, second = Path(before.name), Path(after.name)
    yield f"<section><h2>{safe(second.name)} against {safe(first.name)}</h2>\n"
    if not found.cases:
        yield "<p>The two runs share no case that both measured.</p></section>\n"
        return
    yield scrolled("verdicts")
    yield '<table><thead><tr><th scope="col">case</th>'
    yield '<th scope="col">percentile</th>'
    yield f'<th scope="col" class="figure">{safe(first.name)}</th>'
    yield f'<th scope="col" class="figure">{safe(second.name)}</th><th scope="col" class="figure">'
    yield 'ratio</th><th scope="col">verdict</th></tr></thead>\n<tbody>\n'
    for case in found.cases:
        for name, sides in case.percentiles.items():
            verdict = sides.verdict
            told = f"{verdict.word}: {verdict.why}" if verdict.why else verdict.word
            yield f"<tr><td>{safe(case.label)}</td><td>{shown(name)}</td>"
            yield f'<td class="figure">{text.latency(sides.first_us)}</td>'
            yield f'<td class="figure">{text.latency(sides.second_us)}</td>'
            ends = verdict.interval
            between = f" ({text.ratio_interval(ends.low, ends.high)})" if ends else ""
            yield f'<td class="figure">{sides.ratio:.3f}{between}</td><td>{safe(told)}</td></tr>\n'
    yield "</tbody></table></div>\n"
    note = interval_note(
        sides.verdict for case in found.cases for sides in case.percentiles.values()
    )
    lost = [f"{label}: {why}" for label, why in found.lost.items()]
    differs = [f"{name}: {one} there, {other} here" for name, one, other in found.environment]
    yield (
        "<ul>"
        + "".join(f"<li>{safe(line)}</li>" for line in (*filter(None, [note]), *lost, *differs))
        + "</ul></section>\n"
    )
