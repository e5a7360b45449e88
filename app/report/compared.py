"""Two runs beside each other, as a section of a page: verdicts, and a figure of all ratios."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from app.cases.percentiles import shown
from app.console.verdicts import comparison_blocks
from app.present.document import Block, Heading
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series, Symbol
from app.results import text
from app.results.compare import RunSide, compare_runs
from app.results.history import History
from app.results.labels import model_labels
from app.results.verdicts import Comparison

_COLORS = {"slower": 1, "faster": 2}
_UNDECIDED_COLOR = 6
_SYMBOLS: tuple[Symbol, ...] = ("circle", "diamond")


def comparison(before: RunSide, after: RunSide, history: History | None = None) -> Iterator[Block]:
    """The section; where the runs share no case, it says so. `history` is that of the machine."""
    names = model_labels((before.name, after.name))  # of paths, as those of models
    first, second = names[before.name], names[after.name]
    found = replace(compare_runs(before, after, history=history), first=first, second=second)
    yield Heading(f"{second} against {first}", 1)
    yield from comparison_blocks(found)
    if figure := ratio_figure(found):
        yield figure


def ratio_figure(found: Comparison) -> Figure | None:
    """The second run over the first, with the interval that decided; None without a case."""
    series = []
    for place, case in enumerate(found.cases):
        for number, (name, sides) in enumerate(case.percentiles.items()):
            verdict = sides.verdict
            ends = verdict.interval
            noisy = ends is None or text.is_too_noisy(ends.low, ends.high)
            low, high = (None, None) if noisy or ends is None else (ends.low, ends.high)
            described = f"{case.label}, {shown(name)}: {sides.ratio:.3f}x, {verdict.word}"
            series.append(
                Series(
                    f"{case.label} {shown(name)}",
                    (Mark(sides.ratio, place, described, low, high),),
                    color=_COLORS.get(verdict.word, _UNDECIDED_COLOR),
                    symbol=_SYMBOLS[number % len(_SYMBOLS)],
                    has_legend=False,
                )
            )
    if not series:
        return None
    return Figure(
        f"{found.second} over {found.first}",
        Axis("ratio of latencies (more than 1: slower)", "times", "log", least=0.95, most=1.05),
        Axis(names=tuple(case.label for case in found.cases)),
        tuple(series),
        (ReferenceLine("x", 1.0, "equal"),),
        note="Circle: first percentile of the table, diamond: the second. Line: interval of the "
        "ratio. Grey: same or undecided.",
    )
