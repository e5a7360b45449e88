"""`graphlap cache`: what the cache of exports and engines holds, its limit, and how to empty it."""

from __future__ import annotations

import argparse
import os

from app.cases.setting import parsed, size_in_bytes
from app.cli.output import add_format, print_document
from app.machine import installed_runtimes, release_environments
from app.present.document import Cell, Column, Table, names, table
from app.run_folder import statistics_store
from exporters import cache


def cache_table(freed_bytes: int | None) -> Table:
    """What the cache holds; with `freed_bytes` bytes, after it was emptied."""
    info, environments = cache.info(), release_environments.installed()
    counts = {"exports": info.entries, "files": info.files, "environments": len(environments)}
    apart = "not in the size above"
    sizes = (
        ("size", info.size_bytes, "of exports"),
        ("limit", cache.default_limit_bytes(), ""),
        ("in use", info.in_use_bytes, "by plans that run now"),
        ("engines", cache.part_bytes(installed_runtimes.folder()), f"compiled, {apart}"),
        ("rows", cache.part_bytes(statistics_store.folder()), f"of runs that were read, {apart}"),
        (
            "releases",
            cache.part_bytes(release_environments.environments_folder()),
            f"{', '.join(folder.name for folder in environments) or 'none'}, {apart}",
        ),
        *([] if freed_bytes is None else [("freed", freed_bytes, "")]),
    )
    return table(
        (*names("what"), Column("value"), *names("note")),
        [
            ("folder", "", str(info.path)),
            *((name, Cell(f"{count:,}", count), "") for name, count in counts.items()),
            *((name, Cell(_size(size), size, unit="bytes"), note) for name, size, note in sizes),
        ],
    )


def limit_cache(size: str, option: str) -> None:
    """Set what the cache may hold, here and in child processes; PlanError if it is no size."""
    os.environ[cache.LIMIT_VARIABLE] = str(parsed(size_in_bytes, size, option))


def clear_cache() -> int:
    """Empty it of all that no running plan needs; the bytes that were freed.

    Engines and environments stay while a plan runs: nobody knows which of them it needs.
    """
    freed_bytes = cache.clear() + cache.clear_part(statistics_store.folder())
    if cache.info().in_use_bytes:
        return freed_bytes
    folders = installed_runtimes.folder(), release_environments.environments_folder()
    return freed_bytes + sum(map(cache.clear_part, folders))


def _size(count: int) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"


def add_cache(parser: argparse.ArgumentParser) -> None:
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


def run_cache(options: argparse.Namespace) -> int:
    """Print what the cache holds, after emptying it if that was asked for."""
    if options.limit is not None:
        limit_cache(options.limit, "--limit")
    freed_bytes = clear_cache() if options.action == "clear" else None
    return print_document([cache_table(freed_bytes)], options)
