"""`graphlap cache`: what the cache of exports, engines and environments holds, and how to empty
it."""

from __future__ import annotations

import argparse

from app.commands.output import add_format, print_document
from app.console.cache import limit_cache


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do with it."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("info", "clear"),
        default="info",
        help="info (default): what it holds; clear: empty it, but for what a running plan needs",
    )
    parser.add_argument(
        "--limit", "--cache-limit", dest="limit", metavar="SIZE", help="what it may hold (16GiB)"
    )
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print what the cache holds, after emptying it if that was asked for."""
    from app.console.cache import cache_table, cache_text, clear_cache

    if options.limit is not None:
        limit_cache(options.limit, "--limit")
    freed = clear_cache() if options.action == "clear" else None
    return print_document([cache_table(freed)], options, {"table": lambda: cache_text(freed)})
