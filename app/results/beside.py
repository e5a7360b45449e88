"""Several runtimes side by side: what the same nodes of the file take in each of them.

Engines fuse nodes, each in its own way. Compared are the smallest groups of nodes that no engine
of these fuses with a node outside; what an engine added of its own is one figure for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.operators import Operator, OperatorTimes
from app.results.labels import case_label, model_labels
from app.results.operators import read_operators
from app.results.run import Run
from runtimes.execution import Clock


@dataclass(frozen=True, slots=True)
class SharedNodes:
    """Nodes of the file that are one piece of work in all engines, and what each takes for it.

    In microseconds, in the order of the runtimes; None where an engine has left them out.
    """

    nodes: tuple[str, ...]
    times_us: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """`what` is the model at its sizes, `names` the runtimes; `own_us` is what each spends on
    work that belongs to no node of the file, as far as it tells."""

    what: str
    names: tuple[str, ...]
    clock: Clock
    shared: tuple[SharedNodes, ...]
    own_us: tuple[float, ...]


def side_by_side(run: Run) -> list[Beside]:
    """One for each case that several runtimes told the operators of, on the same clock.

    ResultsError if a table of operators can't be read.
    """
    models = model_labels(case.model for case in run.cases)
    alike: dict[tuple[str, Clock], list[tuple[Case, OperatorTimes]]] = {}
    for case in run.cases:
        line = run.operators.get(case.case_id)
        if line is not None and line.file:
            bare = replace(case, runtime="", options={})
            what = case_label(bare, models).replace("  ", " ").strip()
            alike.setdefault((what, line.clock), []).append((case, read_operators(run.path, line)))
    return [
        _beside(what, clock, told)
        for (what, clock), told in alike.items()
        if sum(any(op.holds for op in times.ops) for _, times in told) > 1
    ]


def _beside(what: str, clock: Clock, told: Sequence[tuple[Case, OperatorTimes]]) -> Beside:
    matched = [pair for pair in told if any(op.holds for op in pair[1].ops)]
    return Beside(
        what,
        tuple(_name(case) for case, _ in matched),
        clock,
        tuple(
            SharedNodes(group, tuple(_time_us(times.ops, group) for _, times in matched))
            for group in _groups([op.holds for _, times in matched for op in times.ops])
        ),
        tuple(sum(op.time_us for op in times.ops if not op.holds) for _, times in matched),
    )


def _name(case: Case) -> str:
    options = [f"{name}={value}" for name, value in sorted(case.options.items())]
    return " ".join([case.runtime, *options])


def _groups(held: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The names in groups, so that all that is held together anywhere is in one."""
    group_of: dict[str, list[str]] = {}
    for names in held:
        joined: list[str] = []
        for group in {id(g): g for name in names for g in [group_of.get(name, [name])]}.values():
            joined += group
        group_of |= dict.fromkeys(joined, joined)
    return [tuple(group) for group in {id(g): g for g in group_of.values()}.values()]


def _time_us(ops: Iterable[Operator], group: Sequence[str]) -> float | None:
    times = [op.time_us for op in ops if not set(op.holds).isdisjoint(group)]
    return sum(times) if times else None
