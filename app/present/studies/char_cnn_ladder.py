"""The optimisation history of the CNN next to the ablation of a search; the study as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.published_figures import (
    PrintedOperator,
    history_steps,
    printed_operators,
)
from app.cases.jobs import Operator, OperatorTimes
from app.formatting import text
from app.machine.installed_runtimes import options_of
from app.present.answer import answers
from app.present.document import Block, Column, Heading, Paragraph, Points, Table, names, table
from app.present.studies import char_cnn_steps as steps
from app.present.studies.char_cnn_steps import PUBLISHED_COLUMNS, published
from app.present.studies.study import Found, Study, Whole, lines_of
from app.runs.following.state import case_operators
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


def operators_tables(results: Found) -> Iterator[Block]:
    """The checklist, then the times of the document's blocks with and without fusions."""
    every = printed_operators()
    measurements = [(label, line[0]) for label, line in lines_of(results.measured).items()]
    timed_lines = [
        (label, measurement, case_operators(results.run, measurement.case))
        for label, measurement in measurements
    ]
    executions = [
        Executed(label, measurement, times, tuple(_places(op, every) for op in times.ops))
        for label, measurement, times in timed_lines
        if times is not None and times.ops
    ]
    yield Heading("The checklist")
    yield Paragraph(
        "What the author planned and did (yes, no), and what each engine does: the number of "
        "places of the network at which one executed operator contains the whole pattern."
    )
    if executions:
        yield _checklist(executions, every)
    yield Points(
        tuple(
            f"{label}: {'no operator times yet' if times is None else times.reason}"
            for label, _, times in timed_lines
            if times is None or not times.ops
        )
    )
    if not executions:
        return
    yield Heading("Time by block (µs)")
    yield Paragraph(
        "The sum of the executed operators of each block, in a separate process with the engine's "
        "profiler. An operator with parts of two blocks counts in the later one. Engines rearrange "
        "tensors between operators; this has a separate row."
    )
    yield _by_block(executions, every)


def _checklist(executions: Sequence[Executed], every: Sequence[PrintedOperator]) -> Table:
    kinds = [item.operator for item in every]
    rows = [
        ("offload", "yes", "synchronous, to other workers", *map(_offload, executions)),
        ("offload", "no", "asynchronous, several requests in flight", *map(_in_flight, executions)),
        ("batch", "yes", "several inputs in a run", *("yes" for _ in executions)),
        (
            "per operator",
            "in part",
            f"operators executed for {len(every)}",
            *(str(len(item.times.ops)) for item in executions),
        ),
    ]
    for fusion, support, pattern in _PATTERNS:
        starts = [p for p in range(len(kinds)) if tuple(kinds[p : p + len(pattern)]) == pattern]
        cells = (_share_of(item, starts, len(pattern)) for item in executions)
        rows.append((fusion, support, "_".join(pattern), *cells))
    titles = names("what", "author", "pattern")
    return table((*titles, *(Column(item.label) for item in executions)), rows)


def _share_of(execution: Executed, starts: Sequence[int], length: int) -> str:
    whole = sum(
        any(set(range(start, start + length)) <= op_places for op_places in execution.places)
        for start in starts
    )
    return f"{whole} of {len(starts)}"


def _offload(execution: Executed) -> str:
    return "replicas" if SESSIONS in options_of(execution.measured.case.runtime) else "no"


def _in_flight(execution: Executed) -> str:
    return "multistream" if _offload(execution) != "no" else "no"


def _by_block(executions: Sequence[Executed], every: Sequence[PrintedOperator]) -> Table:
    blocks = list(dict.fromkeys(item.block for item in every))
    sums = [_sums(item, every) for item in executions]
    lines = {block: [by_block.get(block, 0.0) for by_block in sums] for block in blocks}
    lines["rearranging"] = [by_block.get("", 0.0) for by_block in sums]
    lines["all"] = [sum(by_block.values()) for by_block in sums]
    rows = ((title, *map(text.significant, times)) for title, times in lines.items())
    return table((*names("block"), *(Column(item.label) for item in executions)), rows)


def _sums(execution: Executed, every: Sequence[PrintedOperator]) -> dict[str, float]:
    """By block; "" for what holds none of the document's operators."""
    sums: dict[str, float] = {}
    for op, places in execution.fused:
        block = every[max(places)].block if places else ""
        sums[block] = sums.get(block, 0.0) + op.time_us
    return sums


def _places(op: Operator, every: Sequence[PrintedOperator]) -> frozenset[int]:
    """Where in the document's list the operators are that an executed one holds."""
    return frozenset(place for node in op.holds for place in _place(node, every))


def _place(node: str, every: Sequence[PrintedOperator]) -> Iterable[int]:
    match = _NODE.fullmatch(node)
    kind = _KINDS.get(match["kind"], "collapse") if match else "collapse"
    places = [place for place, entry in enumerate(every) if entry.operator == kind]
    number = int(match["number"] or 0) if match and kind != "collapse" else 0
    return places[number : number + 1]


OPERATORS = Study(
    name="char-cnn/operators",
    title="Operators and fusions",
    repeats=(
        "The author lists operators to write for a GPU and to fuse. Engines have written theirs: "
        "read from the executed graph is which of the network's operators each of them fuses."
    ),
    tables=operators_tables,
    one_host=True,
)


def ladder_tables(results: Found) -> Iterator[Block]:
    """One table of both, then what to think of the search."""
    yield Heading("The history and the search")
    yield Paragraph(
        "Published: other machines and code, each step one more change, from one node to several "
        "GPUs. Measured: this machine, each step one more choice of the search, all measured again "
        "in turn. A published and a measured step in one line do not correspond."
    )
    found = answers(results.run)
    rows = [row for answer in found for row in answer.rows()]
    if not rows:
        yield Paragraph("The search has no final rounds: there is no ladder yet.")
        return
    yield _ladder_table([row for row in rows if row["model"] == rows[0]["model"]])
    yield Points(tuple(sentence for answer in found for sentence in answer.sentences()))


def _ladder_table(rungs: Sequence[Mapping[str, Any]]) -> Table:
    steps = history_steps()
    rows = []
    for number, (step, rung) in enumerate(zip_longest(steps, rungs)):
        published_cells: tuple[str, ...] = ("", "", "")
        if step is not None:
            published_cells = published(step, steps[number - 1] if number else None)
        measured_cells = ("", "", "", "", "") if rung is None else _measured_cells(rung)
        rows.append((*published_cells, *measured_cells))
    headings = ("inputs/s", "times", "than the default", "error")
    measured_columns = (Column(heading, "measured") for heading in headings)
    step_column = Column("step", "measured", is_name=True)
    return table((*PUBLISHED_COLUMNS, step_column, *measured_columns), rows)


def _measured_cells(rung: Mapping[str, Any]) -> tuple[str, ...]:
    error, value = rung["max_rel_error"], rung["value"]
    return (
        rung["change"],
        text.rate_text(value) if rung["figure"] == "inputs_per_s" else text.latency(value),
        _gain_text(rung, "gain"),
        _gain_text(rung, "total"),
        text.NOT_MEASURED if error is None else text.share(error),
    )


def _gain_text(rung: Mapping[str, Any], name: str) -> str:
    if rung[name] is None:
        return ""
    low, high = rung[f"{name}_low"], rung[f"{name}_high"]
    interval = "" if low is None or high is None else f" ({text.ratio_interval(low, high)})"
    return f"{text.significant(rung[name])}{interval}"


LADDER = Study(
    name="char-cnn/ladder",
    title="A search instead of steps",
    repeats=(
        "The result of a search over runtimes, precisions, batch sizes, threads and options, "
        "within an error of 2 % of the largest output."
    ),
    tables=ladder_tables,
    one_host=True,
)


WHOLE = Whole(
    name="char-cnn",
    title="The character-level CNN, optimised",
    repeats=(
        "A history of seven steps took one network from 2.12 to 727.2 inputs a second: offloading, "
        "batches, kernels for a GPU, fused operators, several GPUs. This study reproduces the "
        "steps, by choosing runtimes instead of writing code, then the author's checklist of "
        "operators and fusions, and the whole path, as the result of a search. The network has "
        "random weights, so errors are of outputs, not of answers."
    ),
    parts=(steps.STUDY, OPERATORS, LADDER),
    shares=(0.3, 0.2, 0.5),
)
