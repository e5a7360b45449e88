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

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.published_figures import NeurioBlock, neurio_blocks
from app.cases.column import number_of
from app.formatting import text
from app.machine.installed_runtimes import clock_of
from app.present.document import Block, Column, Heading, Paragraph, Points, Table, names, table
from app.present.studies.study import Found, Lines, Study, case_at, cell, figure, lines_of
from app.runs.exporting.json_file import as_json, profile

_TITLES = {"layers": "Layer-based benchmarking", "cells": "Cell-based benchmarking"}
_MEDIAN = "latency_p50_us"
_MOST_TIMES = 1000
"""Of each model's times so many are listed, as its profiler does a benchmark's."""
_OVERHEAD, _COMPUTE = "overhead_p50_us", "compute_p50_us"
_RESHAPE, _NEAR_FACTOR = "reshape_", 1.5


@dataclass(frozen=True, slots=True)
class _Part:
    """The layers or the cells of the page, with the lines of a run that measured any of them."""

    name: str
    blocks: tuple[NeurioBlock, ...]
    lines: Lines


def tables(results: Found) -> Iterator[Block]:
    """For the layers and for the cells the page's table, with a line for each device."""
    for part in _parts(results):
        yield Heading(_TITLES[part.name])
        rows = [measurement.row for line in part.lines.values() for measurement in line]
        sizes = sorted({size for row in rows if isinstance(size := row["batch_size"], int)})
        if sizes:
            yield Paragraph(f"Batch size of the figures: {', '.join(map(str, sizes))}.")
        yield _table(part, lambda measurement: cell(measurement, _MEDIAN))
        yield Points(tuple(_by_device(part)))
        yield from _overhead(part)


def files(results: Found) -> Mapping[str, bytes]:
    """A result in the layout of NeurIO's profiler for the layers and the cells on each device."""
    return {
        f"neurio-{part.name}-{_in_a_name(label)}.json": _profiles(results, part, line)
        for part in _parts(results)
        for label, line in part.lines.items()
    }


def _parts(results: Found) -> Iterator[_Part]:
    lines = lines_of(results.measured, by_batch=True)
    for name in _TITLES:
        blocks = tuple(block for block in neurio_blocks() if block.part == name)
        models = {block.model for block in blocks}
        part_lines = {
            label: line
            for label, line in lines.items()
            if any(measurement.case.model in models for measurement in line)
        }
        if part_lines:
            yield _Part(name, blocks, part_lines)


def _profiles(results: Found, part: _Part, line: Sequence[MeasuredCase]) -> bytes:
    cases = (case_at(line, block.model) for block in part.blocks)
    profiles = [profile(results.run, m.case, _MOST_TIMES) for m in cases if m is not None]
    return as_json(profiles).encode()


def _table(part: _Part, as_cell: Callable[[MeasuredCase | None], str]) -> Table:
    most = max(block.config for block in part.blocks)
    configs = (Column(f"Config-{number + 1}") for number in range(most))
    rows = []
    for name in dict.fromkeys(block.block for block in part.blocks):
        row_blocks = [block for block in part.blocks if block.block == name]
        empty = [""] * (most - len(row_blocks))
        rows.append((name, "", *(block.label for block in row_blocks), *empty))
        for label, line in part.lines.items():
            cells = (as_cell(case_at(line, block.model)) for block in row_blocks)
            rows.append(("", _line_title(label, line), *cells, *empty))
    return table((*names("Block", "Device"), *configs), rows)


def _by_device(part: _Part) -> Iterator[str]:
    """The devices over what all of them ran, so that none is better for what it refused."""
    medians = {
        label: [figure(case_at(line, block.model), _MEDIAN) for block in part.blocks]
        for label, line in part.lines.items()
    }
    shared_places = [
        place
        for place in range(len(part.blocks))
        if all(line_medians[place] for line_medians in medians.values())
    ]
    for label, line_medians in medians.items():
        ran = sum(median is not None for median in line_medians)
        title = _line_title(label, part.lines[label])
        sentence = f"{title}: {ran} of {len(line_medians)} {part.name} measured"
        if shared_places:
            mean = text.latency(
                geometric_mean([line_medians[place] or 0.0 for place in shared_places])
            )
            sentence += (
                f"; geometric mean of the {len(shared_places)} medians that all devices have {mean}"
            )
        yield sentence


def _overhead(part: _Part) -> Iterator[Block]:
    """How many of the figures are mostly the call, and the compute without it where the run has
    measured empty copies of the models."""
    near_texts = tuple(_near_the_call(part))
    if near_texts:
        yield Heading(f"Call overhead of the {part.name}", 3)
        yield Points(near_texts)
    every = [measurement for line in part.lines.values() for measurement in line]
    if any(figure(measurement, _OVERHEAD) is not None for measurement in every):
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
        other_medians = [us for model, us in medians.items() if model not in reshapes]
        facts = []
        if reshapes and other_medians:
            slowest = max(reshapes.values())
            few = sum(us < _NEAR_FACTOR * slowest for us in other_medians)
            facts.append(
                f"{few} of {len(other_medians)} {part.name} take less than "
                f"{_NEAR_FACTOR:g} times the slowest reshape ({text.latency(slowest)})"
            )
        pairs = [
            (us, overhead)
            for model, us in medians.items()
            if (overhead := figure(case_at(line, model), _OVERHEAD)) is not None
        ]
        if pairs:
            calls = [overhead for _, overhead in pairs]
            few = sum(us < _NEAR_FACTOR * overhead for us, overhead in pairs)
            facts.append(
                f"{few} of {len(pairs)} take less than {_NEAR_FACTOR:g} times their own call, "
                f"which takes {text.latency(min(calls))} to {text.latency(max(calls))}"
            )
        if facts:
            yield f"{_line_title(label, line)}: {'; '.join(facts)}"


def _compute(measurement: MeasuredCase | None) -> str:
    value = figure(measurement, _COMPUTE)
    if measurement is None or value is None:
        return cell(measurement, _COMPUTE)
    low, high = (number_of(measurement.row[f"compute_p50_ci_{end}_us"]) for end in ("low", "high"))
    if low is not None and high is not None and low <= 0:
        return f"< {text.latency(high)}" if high > 0 else "0"
    return text.latency(value) if value > 0 else "0"


def _line_title(label: str, line: Sequence[MeasuredCase]) -> str:
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
        "configurations are columns, and each device has a line with the median of one run in a "
        "typical process, from the call until the outputs are complete. The page "
        "names configurations without figures; their other sizes are ours."
    ),
    tables=tables,
    files=files,
)
