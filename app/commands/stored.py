"""The options of commands that make a run folder of what was measured before."""

from __future__ import annotations

import argparse

from app.commands.output import add_format, add_verbose


def add_stored_outputs(parser: argparse.ArgumentParser) -> None:
    """Where the run goes, and what is written and printed of it."""
    parser.add_argument(
        "-o", "--out", metavar="DIR", help="the new run folder (graphlap-results/…)"
    )
    parser.add_argument(
        "--export", metavar="FORMAT,…", help="also write csv, json, markdown, parquet, hdr, trace"
    )
    parser.add_argument("--sort", metavar="COLUMN", help="order of the rows: p99, model, …")
    add_format(parser)
    add_verbose(parser)
