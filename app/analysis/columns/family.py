"""A family of columns, declared where it is filled: a class whose attributes are its columns.

    class Placement(Family, heading="Placement"):
        cores = Text()
        \"\"\"The cores that the measuring process may run on.\"\"\"

Below each stands what it means. The unit is that which the name ends with, the title is the name in
words unless another is given; a column of `p99` that is for `each` of several figures declares all
of them. One computation fills all columns of a family: most come from one pass over samples or one
reading of rounds, so that a function for each column would repeat it. What a column replaces of an
earlier family, as of a row that another program measured, the later one returns too.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from typing import ClassVar

from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import Better, Column, Group, Kind, Row
from app.cases.round import RoundResult
from app.cases.units import percentile_label, percentile_of, percentile_text
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.stats.summary import Rate, Summary
from exporters.diagnostics import Diagnostic
from runtimes.execution import Samples


@dataclass(frozen=True, slots=True)
class CaseData:
    """What the columns of one case are computed from.

    `rounds` may be none; so many are `planned`. `summary` and `blocks` are statistics of the timed
    rounds, None where there are none of the kind, `disturbed` what their outliers coincide with,
    `of_samples` the values of the families that are `OfSamples`, by their names.
    """

    run: Run
    case: Case
    plan: Plan
    rounds: Sequence[RoundResult] = ()
    planned: int = 0
    summary: Summary | None = None
    blocks: Rate | None = None
    disturbed: Sequence[Diagnostic] = ()
    of_samples: Mapping[str, Row] = field(default_factory=dict)

    @property
    def latency(self) -> Summary | None:
        """The summary where a sample is of one run: else its times are nobody's latency."""
        return None if self.case.scenario.kind == "ahead" else self.summary


@dataclass(frozen=True, slots=True)
class Declared:
    """A column of a class body, to which the class gives its name."""

    kind: Kind
    title: str = ""
    group: Group = "other"
    better: Better = ""
    each: Sequence[str] = ()
    """The figures, `p99` among them, that have such a column; those of `others` in no group."""
    others: Sequence[str] = ()
    unit: str = ""


Text, Count, Flag = partial(Declared, "text"), partial(Declared, "count"), partial(Declared, "flag")
Number = partial(Declared, "number")
Lower, Higher = partial(Number, better="lower"), partial(Number, better="higher")

_UNITS = {"us": "us", "ms": "ms", "ns": "ns", "s": "s", "per_s": "1/s", "hz": "1/s", "mhz": "MHz"}
_UNITS |= {"mib": "MiB", "mb": "MB", "w": "W", "c": "C"}
_SYMBOLS = {"us": "µs", "C": "°C"}
_PATTERN = "p99"


class Columns:
    """What has `columns`; `heading` is that above them on the page of columns."""

    heading: ClassVar[str]
    columns: ClassVar[tuple[Column, ...]]

    def __init_subclass__(cls, heading: str = "") -> None:
        cls.heading = heading
        cls.columns = tuple(
            column
            for name, declared in vars(cls).items()
            if isinstance(declared, Declared)
            for column in _columns(cls, name, declared)
        )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(column.name for column in cls.columns)


class Family(Columns):
    """`unmeasured`: it has values for a case without rounds too."""

    unmeasured: ClassVar[bool] = False

    @classmethod
    def fill(cls, data: CaseData, row: Row) -> Row:
        """The values of the columns, from the case and the row so far."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class SampledCase:
    """The timed rounds of a case with their samples; `causes` counts what their outliers coincide
    with, None where nobody looked. `starts_s` are when they began, empty where one is not known."""

    run: Run
    case: Case
    plan: Plan
    rounds: Sequence[RoundResult]
    samples: Sequence[Samples]
    causes: Counter[str] | None = None
    starts_s: Sequence[float] = ()

    @property
    def confidence(self) -> float:
        return self.plan.confidence_at(len(self.rounds))


class OfSamples(Family):
    """What takes reading the samples, which is done once for all of these families."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        """The values of the columns."""
        raise NotImplementedError

    @classmethod
    def fill(cls, data: CaseData, _: Row) -> Row:
        return data.of_samples.get(cls.__name__, {})


class Comparing(Columns):
    """What compares the cases of a run."""

    @classmethod
    def fill(cls, plan: Plan, measurements: Sequence[MeasuredCase]) -> Mapping[str, Row]:
        """By case id, the values of those that have some."""
        raise NotImplementedError


def _columns(owner: type, name: str, declared: Declared) -> Iterator[Column]:
    stem, unit = _stem_and_unit(name)
    title = declared.title or stem.replace("_", " ").capitalize()
    if unit and "/s" not in title:
        title = f"{title} ({_SYMBOLS.get(unit, unit)})"
    unit, explain = unit or declared.unit, partial(_meaning, owner.__module__, owner.__name__, name)
    column = Column(name, declared.kind, unit, declared.better, declared.group, title, explain)
    if not declared.each:
        yield column
    for figure in declared.each:
        other = like(column, figure)
        yield replace(other, group="other") if figure in declared.others else other


def _stem_and_unit(name: str) -> tuple[str, str]:
    """`duration` and `s` of `duration_s`; no unit where the name has none."""
    endings = [ending for ending in _UNITS if name.endswith(f"_{ending}")]
    ending = max(endings, key=len, default="")
    return name.removesuffix(f"_{ending}"), _UNITS.get(ending, "")


def like(column: Column, figure: str) -> Column:
    """The column of another figure, such as `mean` or `p9999`, by that of p99."""
    label, better = percentile_label(figure), column.better
    share = f"{percentile_text(percentile_of(figure) or 0.0)} of 100"

    def explain() -> str:
        return column.meaning.replace("99 of 100", share).replace(_PATTERN, label)

    if figure == "throughput" and better == "lower":
        better = "higher"
    name, title = column.name.replace(_PATTERN, figure), column.title.replace(_PATTERN, label)
    return replace(column, name=name, title=title, better=better, explain=explain)


def _meaning(module: str, family: str, name: str) -> str:
    return _meanings(module)[family, name]


@cache
def _meanings(module: str) -> dict[tuple[str, str], str]:
    """By class and attribute, the string below each attribute: Python does not keep it."""
    found = {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for attribute, below in pairwise(owner.body):
            match attribute, below:
                case ast.Assign([ast.Name(name)]), ast.Expr(ast.Constant(words)):
                    found[owner.name, name] = " ".join(str(words).split())
    return found
