"""NeurIO's block-based benchmark: 60 layers and 22 cells, a line of medians for each device.

The layout is that of its page, where a block is a row and its configurations are columns; the
result files are those of its profiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import geometric_mean

from app.machine.available import clock_of
from app.present.document import Block, Column, Heading, Points, Table
from app.results import text
from app.results.measured import Measured
from app.results.profiles import as_json, profile
from app.results.published import NeurioBlock, neurio_blocks
from app.studies.found import Found, cell, figure
from app.studies.study import Study

_TITLES = {"layers": "Layer-based benchmarking", "cells": "Cell-based benchmarking"}
_MEDIAN = "latency_p50_us"
_MOST_TIMES = 1000
"""Of each model's times so many are listed, as its profiler does a benchmark's."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The layers or the cells of the page, on the devices of a run."""

    name: str
    blocks: tuple[NeurioBlock, ...]
    devices: tuple[str, ...]


def tables(found: Found) -> Iterator[Block]:
    """For the layers and for the cells the page's table, with a line for each device."""
    for part in _parts(found):
        yield Heading(_TITLES[part.name])
        yield _table(found, part)
        yield Points(tuple(_by_device(found, part)))


def files(found: Found) -> Mapping[str, bytes]:
    """A result in the layout of NeurIO's profiler for the layers and the cells on each device."""
    return {
        f"neurio-{part.name}-{_in_a_name(device)}.json": _profiles(found, part, device)
        for part in _parts(found)
        for device in part.devices
    }


def _parts(found: Found) -> Iterator[_Part]:
    for name in _TITLES:
        blocks = tuple(block for block in neurio_blocks() if block.part == name)
        models = {block.model for block in blocks}
        own = (one.case.runtime for one in found.measured if one.case.model in models)
        devices = tuple(dict.fromkeys(own))
        if devices:
            yield _Part(name, blocks, devices)


def _profiles(found: Found, part: _Part, device: str) -> bytes:
    cases = (_on(found, block, device) for block in part.blocks)
    profiles = [profile(found.run, one.case, _MOST_TIMES) for one in cases if one is not None]
    return as_json(profiles).encode()


def _table(found: Found, part: _Part) -> Table:
    most = max(block.config for block in part.blocks)
    configs = (Column(f"Config-{number + 1}") for number in range(most))
    rows = []
    for name in dict.fromkeys(block.block for block in part.blocks):
        own = [block for block in part.blocks if block.block == name]
        empty = [""] * (most - len(own))
        rows.append((name, "", *(block.label for block in own), *empty))
        for device in part.devices:
            cells = (cell(_on(found, block, device), _MEDIAN) for block in own)
            rows.append(("", _called(device), *cells, *empty))
    return Table(
        (Column("Block", is_name=True), Column("Device", is_name=True), *configs), tuple(rows)
    )


def _by_device(found: Found, part: _Part) -> Iterator[str]:
    """The devices over what all of them ran, so that none is better for what it refused."""
    medians = {
        device: [figure(_on(found, block, device), _MEDIAN) for block in part.blocks]
        for device in part.devices
    }
    shared = [
        place for place in range(len(part.blocks)) if all(of[place] for of in medians.values())
    ]
    for device, of in medians.items():
        ran = sum(median is not None for median in of)
        told = f"{_called(device)}: {ran} of {len(of)} {part.name} measured"
        if shared:
            mean = text.latency(geometric_mean([of[place] or 0.0 for place in shared]))
            told += f"; geometric mean of the {len(shared)} medians that all devices have {mean}"
        yield told


def _on(found: Found, block: NeurioBlock, device: str) -> Measured | None:
    return found.one(lambda case: case.model == block.model and case.runtime == device)


def _called(device: str) -> str:
    """A device with its clock where that is no real one."""
    return f"{device} (simulated)" if clock_of(device) == "simulated" else device


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
        "names the configurations and prints no figures; their other sizes are ours."
    ),
    tables=tables,
    files=files,
)
