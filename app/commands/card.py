"""`graphlap card search`: the smallest simulated card that meets a target of latency."""

from __future__ import annotations

import argparse
import math
import re

from app.cases.errors import PlanError
from app.cases.microseconds import TIME, microseconds
from app.commands.output import add_format, print_document
from runtimes.fpga.cards import card_keys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the target, and the cards to consider."""
    parser.add_argument("action", choices=("search",), help="search: the smallest card")
    parser.add_argument("model", metavar="MODEL", help="a file, or a model of the catalogue")
    parser.add_argument("--p99", required=True, metavar="TIME", help="target, such as 2us")
    parser.add_argument(
        "--cards",
        default=",".join(card_keys()),
        metavar="CARD,…",
        help="cards to consider, or .toml files (default: all)",
    )
    parser.add_argument(
        "--release", default="", help="release (default: each card's newest published)"
    )
    parser.add_argument(
        "--back-to-back", action="store_true", help="requests without a pause (default: spaced)"
    )
    parser.add_argument(
        "--axis", action="append", default=[], metavar="NAME=SIZE", help="size of a named axis"
    )
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="OUT=IN",
        help="output that is an input of the next request",
    )
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the answer; 1 where no configuration meets the target."""
    from app.console.card import card_blocks, card_csv, card_json, searched

    target_us = _target_us(options.p99)
    found = searched(
        options.model,
        target_us=target_us,
        cards=options.cards.split(","),
        release=options.release,
        back_to_back=options.back_to_back,
        axes={name: _size(name, size) for name, size in _pairs(options.axis, "--axis")},
        states=dict(_pairs(options.state, "--state")),
    )
    writers = {"json": lambda: card_json(found, target_us), "csv": lambda: card_csv(found)}
    lost = print_document(card_blocks(found, target_us), options, writers)
    return lost or int(found.smallest is None)


def _target_us(text: str) -> float:
    match = re.fullmatch(TIME, text.strip())
    target_us = microseconds(match["time"], match["unit"]) if match else 0.0
    if not 0.0 < target_us < math.inf:
        raise PlanError(f"--p99: expected a time above 0 (got {text!r})", "write it like 2us")
    return target_us


def _pairs(words: list[str], flag: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words]
    for word, (name, _, value) in zip(words, pairs, strict=True):
        if not (name and value):
            raise PlanError(f"{flag}: expected NAME=VALUE (got {word!r})", "write it so")
    return [(name, value) for name, _, value in pairs]


def _size(name: str, size: str) -> int:
    if not size.isdecimal() or int(size) < 1:
        raise PlanError(f"--axis: expected NAME=SIZE (got {name}={size})", "write it like batch=1")
    return int(size)
