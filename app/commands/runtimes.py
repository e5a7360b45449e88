"""`graphlap runtimes`: every runtime and whether it can be used here, or the options of one."""

from __future__ import annotations

import argparse

from app.commands.output import add_format, print_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All of them, or one."""
    parser.add_argument("name", nargs="?", metavar="RUNTIME", help="print the options of this one")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print them; no engine is loaded (`graphlap doctor` does that)."""
    from app.console.catalogue import options_blocks, runtimes_blocks

    blocks = runtimes_blocks() if options.name is None else options_blocks(options.name)
    return print_document(blocks, options)
