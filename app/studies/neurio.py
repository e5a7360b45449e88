"""NeurIO's block-based benchmark: 60 layers and 22 cells, a line of medians for each device.

The layout is that of its page, where a block is a row and its configurations are columns; the
result files are those of its profiler. A second table has what is left without the call overhead,
which small layers mostly are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from app.cases.column import number_of
from app.comparison.measured_case import MeasuredCase
from app.comparison.published_figures import NeurioBlock, neurio_blocks
from app.formatting import text
from app.machine.installed_runtimes import clock_of
from app.present.document import Block, Column, Heading, Paragraph, Points, Table
from app.runs.exporting.json_file import as_json, profile
from app.studies.study import Found, Lines, Study, case_at, cell, figure, lines_of

_TITLES = {"layers": "Layer-based benchmarking", "cells": "Cell-based benchmarking"}
_MEDIAN = "latency_p50_us"
_MOST_TIMES = 1000
"""Of each model's times so many are listed, as its profiler does a benchmark's."""
_OVERHEAD, _COMPUTE = "overhead_p50_us", "compute_p50_us"
_RESHAPE, _NEAR = "reshape_", 1.5


@dataclass(frozen=True, slots=True)
class _Part:
    """The layers or the cells of the page, with the lines of a run that measured any of them."""

    name: str
    blocks: tuple[NeurioBlock, ...]
    lines: Lines


def tables(found: Found) -> Iterator[Block]:
    """For the layers and for the cells the page's table, with a line for each device."""
    for part in _parts(found):
        yield Heading(_TITLES[part.name])
        yield _table(part, lambda one: cell(one, _MEDIAN))
        yield Points(tuple(_by_device(part)))
        yield from _overhead(part)


def files(found: Found) -> Mapping[str, bytes]:
    """A result in the layout of NeurIO's profiler for the layers and the cells on each device."""
    return {
        f"neurio-{part.name}-{_in_a_name(label)}.json": _profiles(found, part, line)
        for part in _parts(found)
        for label, line in part.lines.items()
    }


def _parts(found: Found) -> Iterator[_Part]:
    lines = lines_of(found.measured, by_batch=True)
    for name in _TITLES:
        blocks = tuple(block for block in neurio_blocks() if block.part == name)
        models = {block.model for block in blocks}
        own = {
            label: line
            for label, line in lines.items()
            if any(one.case.model in models for one in line)
        }
        if own:
            yield _Part(name, blocks, own)


def _profiles(found: Found, part: _Part, line: Sequence[MeasuredCase]) -> bytes:
    cases = (case_at(line, block.model) for block in part.blocks)
    profiles = [profile(found.run, one.case, _MOST_TIMES) for one in cases if one is not None]
    return as_json(profiles).encode()


def _table(part: _Part, as_cell: Callable[[MeasuredCase | None], str]) -> Table:
    most = max(block.config for block in part.blocks)
    configs = (Column(f"Config-{number + 1}") for number in range(most))
    rows = []
    for name in dict.fromkeys(block.block for block in part.blocks):
        own = [block for block in part.blocks if block.block == name]
        empty = [""] * (most - len(own))
        rows.append((name, "", *(block.label for block in own), *empty))
        for label, line in part.lines.items():
            cells = (as_cell(case_at(line, block.model)) for block in own)
            rows.append(("", _called(label, line), *cells, *empty))
    return Table(
        (Column("Block", is_name=True), Column("Device", is_name=True), *configs), tuple(rows)
    )


def _by_device(part: _Part) -> Iterator[str]:
    """The devices over what all of them ran, so that none is better for what it refused."""
    medians = {
        label: [figure(case_at(line, block.model), _MEDIAN) for block in part.blocks]
        for label, line in part.lines.items()
    }
    shared = [
        place for place in range(len(part.blocks)) if all(of[place] for of in medians.values())
    ]
    for label, of in medians.items():
        ran = sum(median is not None for median in of)
        told = f"{_called(label, part.lines[label])}: {ran} of {len(of)} {part.name} measured"
        if shared:
            mean = text.latency(geometric_mean([of[place] or 0.0 for place in shared]))
            told += f"; geometric mean of the {len(shared)} medians that all devices have {mean}"
        yield told


def _overhead(part: _Part) -> Iterator[Block]:
    """How many of the figures are mostly the call, and the compute without it where the run has
    measured empty copies of the models."""
    near = tuple(_near_the_call(part))
    if near:
        yield Heading(f"Call overhead of the {part.name}", 3)
        yield Points(near)
    every = [one for line in part.lines.values() for one in line]
    if any(figure(one, _OVERHEAD) is not None for one in every):
        yield Heading(f"Compute of the {part.name}: median minus call overhead", 3)
        yield Paragraph(
            "The overhead is the median of a copy of the model with the same inputs and outputs "
            "that computes nothing, measured alternately with it. If the 95 % interval of the "
            "difference reaches 0, its upper end is shown, as in “< 0.2 µs”."
        )
        yield _table(part, _compute)


def _near_the_call(part: _Part) -> Iterator[str]:
    """Against a reshape, which computes nothing, and against each model's own empty copy."""
    for label, line in part.lines.items():
        medians = {
            block.model: value
            for block in part.blocks
            if (value := figure(case_at(line, block.model), _MEDIAN)) is not None
        }
        reshapes = {model: us for model, us in medians.items() if model.startswith(_RESHAPE)}
        others = [us for model, us in medians.items() if model not in reshapes]
        facts = []
        if reshapes and others:
            slowest = max(reshapes.values())
            few = sum(us < _NEAR * slowest for us in others)
            facts.append(
                f"{few} of {len(others)} {part.name} take less than {_NEAR:g} times the slowest "
                f"reshape ({text.latency(slowest)})"
            )
        pairs = [
            (us, overhead)
            for model, us in medians.items()
            if (overhead := figure(case_at(line, model), _OVERHEAD)) is not None
        ]
        if pairs:
            calls = [overhead for _, overhead in pairs]
            few = sum(us < _NEAR * overhead for us, overhead in pairs)
            facts.append(
                f"{few} of {len(pairs)} take less than {_NEAR:g} times their own call, which "
                f"takes {text.latency(min(calls))} to {text.latency(max(calls))}"
            )
        if facts:
            yield f"{_called(label, line)}: {'; '.join(facts)}"


def _compute(one: MeasuredCase | None) -> str:
    value = figure(one, _COMPUTE)
    if one is None or value is None:
        return cell(one, _COMPUTE)
    low, high = (number_of(one.row[f"compute_p50_ci_{end}_us"]) for end in ("low", "high"))
    if low is not None and high is not None and low <= 0:
        return f"< {text.latency(high)}" if high > 0 else "0"
    return text.latency(value)


def _called(label: str, line: Sequence[MeasuredCase]) -> str:
    """A line with its clock where that is no real one."""
    simulated = any(clock_of(one.case.runtime) == "simulated" for one in line)
    return f"{label} (simulated)" if simulated else label


def _in_a_name(device: str) -> str:
    """Of a device that is a path what a file can be called."""
    return re.sub(r"[^\w.@-]+", "-", device)


STUDY = Study(
    name="neurio",
    title="NeurIO's block-based benchmark",
    repeats=(
        "The 60 layers and 22 cells of NeurIO's page, in its layout: a block is a row, its "
        "configurations are columns, and each device has a line with the median of one run at "
        "batch 1 in a typical process, from the call until the outputs are complete. The page "
        "names configurations without figures; their other sizes are ours."
    ),
    tables=tables,
    files=files,
)
