"""`graphlap card`: what models need of a simulated card."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from app.cases.errors import PlanError
from app.cases.setting import Pairs, integer_from, words_of
from app.cases.units import TIME, microseconds
from app.cli.output import add_format, print_document
from app.present.document import Block, Column, Paragraph, Table, names
from app.run_folder.table import to_csv
from exporters import install_layout
from exporters.codec import CodecError, from_json, object_of, to_json
from exporters.messages import ExportReply, ExportRequest
from runtimes.fpga.cards import card_keys, load_card
from runtimes.fpga.graph import importer
from runtimes.fpga.lower import lower
from runtimes.fpga.lower.steps import Lowered
from runtimes.fpga.sizing import Configuration, Found, search

MAXIMUM_LINES = 24
"""Of the trade-off curve in a table; the other formats have all of it."""


def add_card(parser: argparse.ArgumentParser) -> None:
    """What to do, with which model, on which cards."""
    parser.add_argument(
        "action", choices=("search",), help="search: smallest card that meets a latency target"
    )
    parser.add_argument("models", nargs="+", metavar="MODEL", help="one model")
    parser.add_argument("--p99", metavar="TIME", help="target, such as 2us (required)")
    parser.add_argument(
        "--cards",
        metavar="CARD,…",
        help="cards to consider, or .toml files (default: all)",
    )
    parser.add_argument("--axis", action="append", metavar="NAME=SIZE", help="size of a named axis")
    parser.add_argument(
        "--state",
        action="append",
        metavar="OUT=IN",
        help="output that is an input of the next request",
    )
    parser.add_argument(
        "--release",
        metavar="RELEASE",
        default="",
        help="release (default: the card's newest published)",
    )
    parser.add_argument(
        "--back-to-back", action="store_true", help="requests without a pause (default: spaced)"
    )
    add_format(parser)


def run_card(options: argparse.Namespace) -> int:
    """Print the answer; 1 where no configuration meets the target.

    PlanError for what is not usable; GraphlapError for a model that has no graph on a card.
    """
    if len(options.models) > 1:
        raise PlanError(
            f"{options.models[1]}: graphlap card search takes one model",
            "Search for each model in a command of its own",
        )
    if options.p99 is None:
        raise PlanError("graphlap card search needs a latency target", "Add --p99 2us")
    axes = Pairs("batch=1", integer_from(1)).read(options.axis or [], "--axis")
    states = Pairs("OUT=IN").read(options.state or [], "--state")
    target_us = _target_us(options.p99)
    keys = card_keys() if options.cards is None else words_of(options.cards, "--cards")
    known_cards = [load_card(key) for key in keys]
    cards = [card for card in known_cards if card.has_release(options.release)] or known_cards
    others = [card.name for card in known_cards if card not in cards]
    lowered_graph = lowered_model(options.models[0], axes, states)
    idle_us = 0.0 if options.back_to_back else math.inf
    result = search(lowered_graph, cards, target_us, options.release, idle_us)
    rows = [{"smallest": point == result.smallest, **asdict(point)} for point in result.curve]
    code = print_document(
        [*_skipped(others, options.release), *_blocks(result, target_us)],
        options,
        {
            "json": lambda: _json(result, target_us, others),
            "csv": lambda: to_csv(rows, list(rows[0])).decode(),
        },
    )
    return code or int(result.smallest is None)


def lowered_model(model: str, axes: dict[str, int], states: dict[str, str]) -> Lowered:
    """A model as every command names it, as steps of a card."""
    request = ExportRequest(model, points=(axes,), states=states, checked=False)
    command = install_layout.command("exporters.worker")
    process = install_layout.run_child(command, json.dumps(to_json(request)) + "\n")
    reply = None
    for line in process.stdout.splitlines():
        with suppress(CodecError):
            reply = from_json(ExportReply, object_of(line))
    if reply is None:
        raise PlanError(
            f"{model}: the export ended with exit code {process.returncode}",
            f"export it alone to see why: graphlap check {model} --runtimes fpga",
        )
    if reply.model is None:
        raise PlanError(f"{model}: {reply.reason}")
    exported_model = reply.model.at(axes)
    pairs = tuple((pair.input, pair.output) for pair in exported_model.states)
    sizes = {name: exported_model.axes[name] for name in exported_model.open_axes}
    return lower(importer.load(exported_model.path, sizes, pairs))


def _skipped(cards: Sequence[str], release: str) -> list[Block]:
    if not cards:
        return []
    return [Paragraph(f"Without {' and '.join(cards)}: no release {release}.")]


def _blocks(result: Found, target_us: float) -> list[Block]:
    blocks: list[Block] = []
    if result.smallest is None:
        best = min(point.p99_us for point in result.curve)
        blocks.append(
            Paragraph(f"No configuration has a p99 of {target_us:g} us; the lowest is {best:.3f}.")
        )
    else:
        blocks.append(
            Paragraph(f"Smallest with p99 <= {target_us:g} us: {_words(result.smallest)}.")
        )
    columns = (
        *names("", "card"),
        Column("cores"),
        Column("block"),
        Column("MHz"),
        Column("DSP", priority=1),
        Column("tiles", priority=2),
        Column("mean", unit="us"),
        Column("p99", unit="us"),
        *names("fidelity"),
    )
    rows = [
        (
            "*" if point == result.smallest else "",
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
        for point in result.curve
    ]
    caption = (
        "From small to large: DSP blocks of the part, multiplications a cycle, clock, cores. Each "
        f"line has a lower p99 than all smaller ones of {result.tried} configurations. DSP: share "
        "of the part's products a cycle; tiles: share of the weight memory. Simulated; whatever "
        "differs from a public design is an extrapolation."
    )
    curve = Table(columns, tuple(rows), caption, MAXIMUM_LINES, "-f csv")
    return [*blocks, curve]


def _words(point: Configuration) -> str:
    return (
        f"{point.card}@{point.release} with {point.cores} cores, blocks of {point.block}, "
        f"{point.clock_mhz:g} MHz: mean {point.mean_us:.3f} us, p99 {point.p99_us:.3f} us, "
        f"{point.fidelity}"
    )


def _json(result: Found, target_us: float, others: Sequence[str]) -> str:
    value = {
        "clock": "simulated",
        "p99_target_us": target_us,
        "smallest": asdict(result.smallest) if result.smallest else None,
        "curve": [asdict(point) for point in result.curve],
        "tried": result.tried,
        "without_release": list(others),
    }
    return json.dumps(value, indent=1) + "\n"


def _target_us(text: str) -> float:
    match = re.fullmatch(TIME, text.strip())
    target_us = microseconds(match["time"], match["unit"]) if match else 0.0
    if not 0.0 < target_us < math.inf:
        raise PlanError(f"--p99: expected a time above 0 (got {text!r})", "write it like 2us")
    return target_us
