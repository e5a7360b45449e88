"""The author's checklist of operators and fusions: what each engine executes, and what that takes.

The executed graph names the nodes of the file that each of its operators was made of; these are the
document's operators in their order. An operator is fused where one executed operator holds all of
its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.cases.jobs import Operator, OperatorTimes
from app.comparison.measured_case import MeasuredCase
from app.comparison.published_figures import PrintedOperator, printed_operators
from app.formatting import text
from app.machine.installed_runtimes import options_of
from app.present.document import Block, Column, Heading, Paragraph, Points, Table
from app.runs.following.state import case_operators
from app.studies.study import Found, Study, lines_of
from runtimes.options import SESSIONS

_NODE = re.compile(r"node_(?P<kind>.+?)(?:_(?P<number>\d+))?")
_KINDS = {
    "conv1d": "conv1d",
    "layer_norm": "layernorm",
    "relu": "relu",
    "max_pool1d": "maxpool1d",
    "linear": "linear",
}
"""What the exporter calls a node, and the document an operator."""
_PATTERNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("weakly fused", "yes", ("conv1d", "relu")),
    ("weakly fused", "no", ("conv1d", "layernorm")),
    ("weakly fused", "yes", ("linear", "relu")),
    ("not on the list", "no", ("layernorm", "relu")),
    ("strongly fused", "no", ("layernorm", "relu", "maxpool1d")),
    ("strongly fused", "no", (*("conv1d", "relu") * 3, "conv1d", "layernorm")),
    ("strongly fused", "no", ("linear", "relu", "linear")),
)
"""A kind of fusion, whether the author did it, and its operators one after the other. The
document's conv1d_stat is a convolution with the statistics of the layer norm behind it."""


@dataclass(frozen=True, slots=True)
class Executed:
    """A line of the page: the operators that a case executed, each with the places of the
    document's operators that it holds."""

    label: str
    measured: MeasuredCase
    times: OperatorTimes
    places: tuple[frozenset[int], ...]

    @property
    def fused(self) -> tuple[tuple[Operator, frozenset[int]], ...]:
        return tuple(zip(self.times.ops, self.places, strict=True))


def tables(found: Found) -> Iterator[Block]:
    """The checklist, then the times of the document's blocks with and without fusions."""
    every = printed_operators()
    told = [(label, line[0]) for label, line in lines_of(found.measured).items()]
    known = [(label, one, case_operators(found.run, one.case)) for label, one in told]
    executed = [
        Executed(label, one, times, tuple(_places(op, every) for op in times.ops))
        for label, one, times in known
        if times is not None and times.ops
    ]
    yield Heading("The checklist")
    yield Paragraph(
        "What the author planned and did (yes, no), and what each engine does: the number of "
        "places of the network at which one executed operator contains the whole pattern."
    )
    if executed:
        yield _checklist(executed, every)
    yield Points(
        tuple(
            f"{label}: {'no operator times yet' if times is None else times.reason}"
            for label, _, times in known
            if times is None or not times.ops
        )
    )
    if not executed:
        return
    yield Heading("Time by block (µs)")
    yield Paragraph(
        "The sum of the executed operators of each block, in a separate process with the engine's "
        "profiler. An operator with parts of two blocks counts in the later one. Engines rearrange "
        "tensors between operators; this has a separate row."
    )
    yield _by_block(executed, every)


def _checklist(executed: Sequence[Executed], every: Sequence[PrintedOperator]) -> Table:
    kinds = [one.operator for one in every]
    rows = [
        ("offload", "yes", "synchronous, to other workers", *map(_offload, executed)),
        ("offload", "no", "asynchronous, several requests in flight", *map(_in_flight, executed)),
        ("batch", "yes", "several inputs in a run", *("yes" for _ in executed)),
        (
            "per operator",
            "in part",
            f"operators executed for {len(every)}",
            *(str(len(one.times.ops)) for one in executed),
        ),
    ]
    for fusion, done, pattern in _PATTERNS:
        starts = [
            place
            for place in range(len(kinds))
            if tuple(kinds[place : place + len(pattern)]) == pattern
        ]
        cells = (_share_of(one, starts, len(pattern)) for one in executed)
        rows.append((fusion, done, _called(pattern), *cells))
    names = (Column(name, is_name=True) for name in ("what", "author", "pattern"))
    return Table((*names, *(Column(one.label) for one in executed)), tuple(rows))


def _share_of(one: Executed, starts: Sequence[int], length: int) -> str:
    whole = sum(
        any(set(range(start, start + length)) <= held for held in one.places) for start in starts
    )
    return f"{whole} of {len(starts)}"


def _called(pattern: tuple[str, ...]) -> str:
    return "_".join(pattern)


def _offload(one: Executed) -> str:
    return "replicas" if SESSIONS in options_of(one.measured.case.runtime) else "no"


def _in_flight(one: Executed) -> str:
    return "multistream" if _offload(one) != "no" else "no"


def _by_block(executed: Sequence[Executed], every: Sequence[PrintedOperator]) -> Table:
    blocks = list(dict.fromkeys(one.block for one in every))
    sums = [_sums(one, every) for one in executed]
    rows = [(block, *(text.significant(own.get(block, 0.0)) for own in sums)) for block in blocks]
    rows.append(("rearranging", *(text.significant(own.get("", 0.0)) for own in sums)))
    rows.append(("all", *(text.significant(sum(own.values())) for own in sums)))
    columns = (Column("block", is_name=True), *(Column(one.label) for one in executed))
    return Table(columns, tuple(rows))


def _sums(one: Executed, every: Sequence[PrintedOperator]) -> dict[str, float]:
    """By block; "" for what holds none of the document's operators."""
    sums: dict[str, float] = {}
    for op, held in one.fused:
        block = every[max(held)].block if held else ""
        sums[block] = sums.get(block, 0.0) + op.time_us
    return sums


def _places(op: Operator, every: Sequence[PrintedOperator]) -> frozenset[int]:
    """Where in the document's list the operators are that an executed one holds."""
    return frozenset(place for node in op.holds for place in _place(node, every))


def _place(node: str, every: Sequence[PrintedOperator]) -> Iterable[int]:
    match = _NODE.fullmatch(node)
    kind = _KINDS.get(match["kind"], "collapse") if match else "collapse"
    places = [place for place, one in enumerate(every) if one.operator == kind]
    number = int(match["number"] or 0) if match and kind != "collapse" else 0
    return places[number : number + 1]


STUDY = Study(
    name="char-cnn/operators",
    title="Operators and fusions",
    repeats=(
        "The author lists operators to write for a GPU and to fuse. Engines have written theirs: "
        "read from the executed graph is which of the network's operators each of them fuses."
    ),
    tables=tables,
    one_host=True,
)
