"""Two runs beside each other, in the words of the verdicts."""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.percentiles import shown
from app.console.verdicts import run_variation_notes
from app.report.shown import safe, scrolled
from app.results import text
from app.results.compare import RunSide, compare_runs
from app.results.labels import model_labels
from app.results.verdicts import Comparison, interval_note


def comparison(before: RunSide, after: RunSide) -> Iterator[str]:
    """A section of the page; where the runs share no case, a sentence."""
    found = compare_runs(before, after)
    names = model_labels((before.name, after.name))  # of paths, as those of models
    first, second = names[before.name], names[after.name]
    yield f"<section><h2>{safe(second)} against {safe(first)}</h2>\n"
    if found.cases:
        yield from _table(found, first, second)
    else:
        yield "<p>The two runs share no case that both measured.</p>\n"
    note = interval_note(found.verdicts)
    apart = [*([note] if note else []), *run_variation_notes(found)]
    apart += [f"not compared: {one.label}: {one.why}" for one in found.not_compared]
    apart += [f"only in {first}: {label}" for label in found.only_first]
    apart += [f"only in {second}: {label}" for label in found.only_second]
    differs = [f"{name}: {one} there, {other} here" for name, one, other in found.environment]
    yield (
        "<ul>"
        + "".join(f"<li>{safe(line)}</li>" for line in (*apart, *differs))
        + "</ul></section>\n"
    )


def _table(found: Comparison, first: str, second: str) -> Iterator[str]:
    yield scrolled("verdicts")
    yield '<table><thead><tr><th scope="col">case</th>'
    yield '<th scope="col">percentile</th>'
    yield f'<th scope="col" class="figure">{safe(first)}</th>'
    yield f'<th scope="col" class="figure">{safe(second)}</th><th scope="col" class="figure">'
    yield 'ratio</th><th scope="col">verdict</th></tr></thead>\n<tbody>\n'
    for case in found.cases:
        for name, sides in case.percentiles.items():
            verdict, told = sides.verdict, sides.verdict_text
            yield f"<tr><td>{safe(case.label)}</td><td>{shown(name)}</td>"
            yield f'<td class="figure">{text.figure(sides.first, sides.unit)}</td>'
            yield f'<td class="figure">{text.figure(sides.second, sides.unit)}</td>'
            ends = verdict.interval
            between = f" ({text.ratio_interval(ends.low, ends.high)})" if ends else ""
            yield f'<td class="figure">{sides.ratio:.3f}{between}</td><td>{safe(told)}</td></tr>\n'
    yield "</tbody></table></div>\n"
