"""`graphlap compare`: two run folders, case by case."""

from __future__ import annotations

import argparse

from app.commands.output import add_format, format_of, print_document
from app.commands.settings import add_settings
from app.console.output_files import reject_outputs
from app.present.terminal import TABLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and what counts as a change."""
    parser.add_argument("runs", nargs=2, metavar="RUN", help="the run before, and the run after")
    add_settings(parser, "compare")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the verdicts; 3 for a slower case and 1 for one without a verdict, by `--fail-on`."""
    from app.console import verdicts
    from app.console.regression_gate import code
    from app.console.run_comparison import compare_by_options

    reject_outputs(options)
    gate = verdicts.gate_of(options)
    comparison = compare_by_options(options.runs, options)
    verdicts.write(verdicts.files(comparison, verdicts.output_options_of(options)))
    writers = {
        "json": lambda: verdicts.json_text(verdicts.as_json(comparison, gate)),
        "markdown": lambda: verdicts.as_markdown(comparison, gate),
    }
    is_table = format_of(options) == TABLE
    blocks = verdicts.comparison_blocks(comparison, gate, *(() if is_table else (None,)))
    print_failure = print_document(blocks, options, writers)
    return print_failure or code(comparison, gate)
