"""What a command prints: a document in the format of `-f`, to standard output and nothing else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from app.cases.errors import PlanError, suggestion
from app.cases.setting import OUTPUT
from app.formatting.text import printable
from app.present.console.streams import ResilientStream, report, width_of
from app.present.document import Block, Points
from app.present.terminal import FORMATS, TABLE, write_formatted

SEVERAL = "run folders; several are read as one run, NAME is what the host of one is called"
Writers = Mapping[str, Callable[[], str]]
"""The text of a format, where a command has one of its own, with keys that stay."""


def add_format(parser: argparse.ArgumentParser) -> None:
    """`-f`, the form in which results are printed."""
    group = output_group(parser)
    group.add_argument(
        "-f",
        "--format",
        metavar="FORMAT",
        default=TABLE,
        help="table (default), json, csv (the main table) or markdown",
    )


def output_group(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The group of options that say how results are printed."""
    groups = (group for group in parser._action_groups if group.title == OUTPUT)
    return next(groups, None) or parser.add_argument_group(OUTPUT)


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """`-v`, of a command that prints a run."""
    output_group(parser).add_argument(
        "-v", "--verbose", action="store_true", help="print every row, warning and interval"
    )


def format_of(options: argparse.Namespace) -> str:
    """The format that was asked for; PlanError for one that does not exist."""
    if options.format not in FORMATS:
        raise PlanError(
            f"--format {options.format} is not known", suggestion(options.format, FORMATS)
        )
    return str(options.format)


def print_document(
    blocks: Iterable[Block],
    options: argparse.Namespace,
    writers: Writers | None = None,
    lines: Sequence[str] = (),
    facts: Callable[[], Mapping[str, Any]] = dict,
) -> int:
    """Print it as `-f` says; returns 1 if it could not be printed, else 0.

    `lines` with paths in them come last; on a terminal they are not broken. `facts` are for JSON.
    """
    form = format_of(options)
    if writers and form in writers:
        return print_text(writers[form]())
    stream = ResilientStream(sys.stdout)
    trailer = [Points(tuple(lines))] if lines and form != TABLE else []
    write_formatted(chain(blocks, trailer), form, stream, width_of(sys.stdout), facts)
    if form == TABLE:
        stream.write("".join(f"{printable(line)}\n" for line in lines))
    return _finish(stream)


def print_text(text: str) -> int:
    """Print lines, in which nothing steers a terminal; returns 1 if they could not be printed."""
    stream = ResilientStream(sys.stdout)
    stream.write("\n".join(map(printable, text.split("\n"))))
    return _finish(stream)


def _finish(stream: ResilientStream) -> int:
    stream.flush()
    if stream.has_lost_output and stream.fault:
        reason = f"standard output can't be written ({stream.fault.strerror})"
        report(reason, ResilientStream(sys.stderr))
    return int(stream.fault is not None)
