"""`python -m runtimes.fpga`: what a card would do with a graph.

`explain model.onnx --card v80` tells people, `schedule --json` tells programs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from exporters import install_layout
from exporters.types import GraphlapError
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.card.timing import idle_cycles
from runtimes.fpga.cards import DEFAULT_CARD, card_keys, load_card
from runtimes.fpga.graph.importer import load
from runtimes.fpga.report import answer_lines, explain, plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0, or 1 with one sentence on standard error."""
    options = _parser().parse_args(arguments)
    if options.command == "schedule":
        answer_lines(sys.stdin, sys.stdout)
        return 0
    try:
        sys.stdout.write(_explanation(options))
    except GraphlapError as error:
        sys.stderr.write(f"{plain(str(error))}\n")
        return 1
    return 0


def _explanation(chosen: argparse.Namespace) -> str:
    axes = dict(_axis(text) for text in chosen.axis)
    card, _, release = chosen.card.partition("@")
    states = tuple(_state(text) for text in chosen.state)
    compiled = compile_graph(load(chosen.model, axes, states or None), load_card(card), release)
    schedule = compiled.scheduler.after_idle(idle_cycles(compiled, chosen.idle_us))
    return explain(compiled, schedule)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {install_layout.module_name('runtimes.fpga')}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    _add_explain(commands.add_parser("explain", help="where the cycles of a graph go on a card"))
    schedule = commands.add_parser(
        "schedule", help="the same for programs: an answer to each question"
    )
    schedule.add_argument(
        "--json",
        action="store_true",
        required=True,
        help="a JSON line on standard output for each of standard input",
    )
    return parser


def _add_explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", help="an .onnx file")
    command.add_argument(
        "--card",
        default=DEFAULT_CARD,
        metavar="CARD[@RELEASE]",
        help=f"{', '.join(card_keys())}, or a card's .toml file (default: {DEFAULT_CARD})",
    )
    command.add_argument(
        "--axis", action="append", default=[], metavar="NAME=SIZE", help="size of a named axis"
    )
    command.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="OUT=IN",
        help="output that is an input of the next request",
    )
    command.add_argument(
        "--idle-us",
        type=float,
        default=float("inf"),
        help="time since the last request was finished; 0 for back to back (default: long enough)",
    )


def _state(text: str) -> tuple[str, str]:
    """Input and output of `OUT=IN`."""
    output, _, name = text.partition("=")
    if not name or not output:
        raise GraphlapError(f"--state {text}: no pair of an output and an input", "write OUT=IN")
    return name, output


def _axis(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not name or not size.isdecimal() or int(size) < 1:
        raise GraphlapError(f"--axis {text} sets nothing", "write --axis NAME=SIZE, as in batch=1")
    return name, int(size)


if __name__ == "__main__":
    sys.exit(main())
