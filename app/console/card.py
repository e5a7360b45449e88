"""`graphlap card`: what a model would need of a simulated card."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, fields

from app.cases.errors import PlanError
from app.present.document import Block, Column, Paragraph, Table, names
from exporters import own
from exporters.codec import CodecError, from_json, object_of, to_json
from exporters.request import ExportReply, ExportRequest
from runtimes.fpga.cards import load_card
from runtimes.fpga.graph import importer
from runtimes.fpga.lower import lower
from runtimes.fpga.lower.steps import Lowered
from runtimes.fpga.search import Configuration, Found, search

MOST_LINES = 24
"""Of the trade-off curve in a table; the other formats have all of it."""


def searched(
    model: str,
    *,
    target_us: float,
    cards: Sequence[str],
    release: str,
    back_to_back: bool,
    axes: dict[str, int],
    states: dict[str, str],
) -> Found:
    """The smallest configuration of these cards that meets a target, and the trade-off curve.

    PlanError for what is not usable; GraphlapError for a model that has no graph on a card.
    """
    lowered = lowered_model(model, axes, states)
    idle_us = 0.0 if back_to_back else math.inf
    return search(lowered, [load_card(key) for key in cards], target_us, release, idle_us)


def lowered_model(model: str, axes: dict[str, int], states: dict[str, str]) -> Lowered:
    """A model as every command names it, as steps of a card."""
    request = ExportRequest(model, points=(axes,), states=states, checked=False)
    command = own.command("exporters.worker")
    done = subprocess.run(
        command,
        input=json.dumps(to_json(request)) + "\n",
        capture_output=True,
        text=True,
        check=False,
        env=own.child_environment(),
    )
    reply = None
    for line in done.stdout.splitlines():
        with suppress(CodecError):
            reply = from_json(ExportReply, object_of(line))
    if reply is None:
        raise PlanError(
            f"{model}: the export ended with exit code {done.returncode}",
            f"export it alone to see why: graphlap check {model} --runtimes fpga",
        )
    if reply.model is None:
        raise PlanError(f"{model}: {reply.reason}")
    exported = reply.model.at(axes)
    pairs = tuple((pair.input, pair.output) for pair in exported.states)
    sizes = {name: exported.axes[name] for name in exported.open_axes}
    return lower(importer.load(exported.path, sizes, pairs))


def card_blocks(found: Found, target_us: float) -> list[Block]:
    """The answer in a sentence, and the curve as a table."""
    blocks: list[Block] = []
    if found.smallest is None:
        best = min(point.p99_us for point in found.curve)
        blocks.append(
            Paragraph(f"No configuration has a p99 of {target_us:g} us; the lowest is {best:.3f}.")
        )
    else:
        blocks.append(
            Paragraph(f"Smallest with p99 <= {target_us:g} us: {_words(found.smallest)}.")
        )
    columns = (
        *names("", "card"),
        Column("cores"),
        Column("block"),
        Column("MHz"),
        Column("DSP"),
        Column("tiles"),
        Column("mean", unit="us"),
        Column("p99", unit="us"),
        *names("fidelity"),
    )
    rows = [
        (
            "*" if point == found.smallest else "",
            f"{point.card}@{point.release}",
            str(point.cores),
            str(point.block),
            f"{point.clock_mhz:g}",
            f"{point.share:.0%}",
            f"{point.tiles_used / point.tiles_total:.0%}",
            f"{point.mean_us:.3f}",
            f"{point.p99_us:.3f}",
            point.fidelity,
        )
        for point in found.curve
    ]
    caption = (
        "From small to large: DSP blocks of the part, multiplications a cycle, clock, cores. Each "
        f"line has a lower p99 than all smaller ones of {found.tried} configurations. DSP: share "
        "of the part's products a cycle; tiles: share of the weight memory. Simulated; whatever "
        "differs from a public design is an extrapolation."
    )
    curve = Table(columns, tuple(rows), caption, MOST_LINES, "-f csv")
    return [*blocks, curve]


def _words(point: Configuration) -> str:
    return (
        f"{point.card}@{point.release} with {point.cores} cores, blocks of {point.block}, "
        f"{point.clock_mhz:g} MHz: mean {point.mean_us:.3f} us, p99 {point.p99_us:.3f} us, "
        f"{point.fidelity}"
    )


def card_json(found: Found, target_us: float) -> str:
    """All of it, with stable keys."""
    value = {
        "clock": "simulated",
        "p99_target_us": target_us,
        "smallest": asdict(found.smallest) if found.smallest else None,
        "curve": [asdict(point) for point in found.curve],
        "tried": found.tried,
    }
    return json.dumps(value, indent=1) + "\n"


def card_csv(found: Found) -> str:
    """A line for each configuration of the curve."""
    out = io.StringIO()
    header = ["smallest", *(field.name for field in fields(Configuration))]
    writer = csv.DictWriter(out, header, lineterminator="\n")
    writer.writeheader()
    for point in found.curve:
        writer.writerow({"smallest": point == found.smallest, **asdict(point)})
    return out.getvalue()
