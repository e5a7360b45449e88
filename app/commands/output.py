"""What a command prints: a document in the format of `-f`, to standard output and nothing else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from app.cases.errors import PlanError, suggestion
from app.console.streams import Lasting, report, width_of
from app.formatting.text import printable
from app.plan.settings.setting import OUTPUT
from app.present.document import Block, Points
from app.present.terminal import FORMATS, TABLE, write_formatted

Writers = Mapping[str, Callable[[], str]]
"""The text of a format, where a command has one of its own, with keys that stay."""


def add_format(parser: argparse.ArgumentParser) -> None:
    """`-f`, and `--markdown` for command lines that were written before it."""
    group = output_group(parser)
    group.add_argument(
        "-f",
        "--format",
        metavar="FORMAT",
        default=TABLE,
        help="table (default), json, csv (the main table) or markdown",
    )
    parser.add_argument(
        "--markdown",
        dest="format",
        action="store_const",
        const="markdown",
        help=argparse.SUPPRESS,
    )


def output_group(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The group of options that say how results are printed."""
    groups = (one for one in parser._action_groups if one.title == OUTPUT)
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
) -> int:
    """Print it as `-f` says; returns 1 if it could not be printed, else 0.

    `lines` with paths in them come last; on a terminal they are not broken.
    """
    form = format_of(options)
    if writers and form in writers:
        return print_text(writers[form]())
    out = Lasting(sys.stdout)
    after = [Points(tuple(lines))] if lines and form != TABLE else []
    write_formatted(chain(blocks, after), form, out, width_of(sys.stdout))
    if form == TABLE:
        out.write("".join(f"{printable(line)}\n" for line in lines))
    return _ended(out)


def print_text(text: str) -> int:
    """Print lines, in which nothing steers a terminal; returns 1 if they could not be printed."""
    out = Lasting(sys.stdout)
    out.write("\n".join(map(printable, text.split("\n"))))
    return _ended(out)


def _ended(out: Lasting) -> int:
    out.flush()
    if out.lost and out.fault:
        reason = f"standard output can't be written ({out.fault.strerror})"
        report(reason, Lasting(sys.stderr))
    return int(out.fault is not None)
