"""The commands that read runs: `show`, `compare`, `history`, `report`, `export` and others."""

from __future__ import annotations

import argparse
import sys

from app.cli.output import (
    SEVERAL,
    add_format,
    add_verbose,
    format_of,
    print_document,
    print_text,
)
from app.plan.command_line import add_settings, explicit_settings
from app.present.console.output_files import reject_outputs
from app.present.console.streams import width_of
from app.present.terminal import TABLE


def add_show(parser: argparse.ArgumentParser) -> None:
    """The run folders, and how much of them."""
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN", help=SEVERAL)
    add_settings(parser, "show")
    add_format(parser)
    add_verbose(parser)


def run_show(options: argparse.Namespace) -> int:
    """Print the run; 1 if something in it is damaged."""
    from app.present.console.answer.document import fit_to_screen, show

    width = width_of(sys.stdout)
    answer = show(options.runs, width, options.sort, options.verbose, options.time)
    is_short = format_of(options) == TABLE and not options.verbose and not options.time
    blocks = fit_to_screen(answer.blocks, width) if is_short else answer.blocks
    print_failure = print_document(blocks, options, lines=answer.damage, facts=answer.facts)
    return print_failure or answer.code


def add_compare(parser: argparse.ArgumentParser) -> None:
    """The runs, and what counts as a change."""
    parser.add_argument("runs", nargs=2, metavar="RUN", help="the run before, and the run after")
    add_settings(parser, "compare")
    add_format(parser)


def run_compare(options: argparse.Namespace) -> int:
    """Print the verdicts; 3 for a slower case and 1 for one without a verdict, by `--fail-on`."""
    from app.present.console import verdicts
    from app.present.console.regression_gate import code
    from app.present.console.run_comparison import compare_by_options

    reject_outputs(options)
    gate = verdicts.gate_of(options)
    comparison = compare_by_options(options.runs, options)
    verdicts.write(verdicts.files(comparison, verdicts.output_options_of(options)))
    writers = {"json": lambda: verdicts.json_text(verdicts.as_json(comparison, gate))}
    is_table = format_of(options) == TABLE
    blocks = verdicts.comparison_blocks(comparison, gate, *(() if is_table else (None,)))
    print_failure = print_document(blocks, options, writers)
    return print_failure or code(comparison, gate)


def add_history(parser: argparse.ArgumentParser) -> None:
    """The folder of runs, and what counts as a change."""
    parser.add_argument("folder", metavar="DIR", help="the folder that the runs lie below")
    add_settings(parser, "history")
    add_format(parser)


def run_history(options: argparse.Namespace) -> int:
    """Print the changes; by `--fail-on` 3 if a case became slower, 1 if the last is not judged."""
    from app.present.console.history import history
    from app.present.console.verdicts import gate_of

    reject_outputs(options)
    report = history(
        options.folder,
        band=explicit_settings(options, "plan").get("band"),
        any_host=options.any_host,
        fail_on_slower=bool(gate_of(options, ("slower",))),
    )
    report.write(json_path=options.json, csv_path=options.csv, plot_path=options.plot)
    writers = {"json": report.json, "csv": report.csv}
    return print_document(report.blocks(), options, writers) or report.code


def add_report(parser: argparse.ArgumentParser) -> None:
    """The runs, and the page."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="[NAME=]RUN",
        help="run folders; several are one page, as one run where no two of them timed a case on "
        "one host, else each by itself, and two are compared; NAME is what the host of one is "
        "called",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="the page (report.html)"
    )
    add_settings(parser, "report")


def run_report(options: argparse.Namespace) -> int:
    """Write the page; 1 if something in a run is damaged."""
    from app.present.report.page import write_report

    damage = write_report(options.runs, options.output, options.history)
    print_failure = print_text(
        "".join(f"{line}\n" for line in (f"wrote {options.output}", *damage))
    )
    return print_failure or int(bool(damage))


def add_export(parser: argparse.ArgumentParser) -> None:
    """The runs, the formats, and where the files go."""
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN", help=SEVERAL)
    parser.add_argument(
        "-f",
        "--format",
        dest="formats",
        metavar="FORMAT,…",
        required=True,
        help="csv, json, markdown, parquet, hdr, trace",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="where the files go (the run folder); several runs need it",
    )
    add_settings(parser, "export")


def run_export(options: argparse.Namespace) -> int:
    """Write the files; 1 if something in a run is damaged."""
    from app.present.console.export_formats import export_stored, formats_of

    formats = formats_of(options.formats)
    lines, damage = export_stored(options.runs, formats, options.columns, options.output)
    print_failure = print_text("".join(f"{line}\n" for line in (*lines, *damage)))
    return print_failure or int(bool(damage))


def add_import(parser: argparse.ArgumentParser) -> None:
    """The files, and the run folder that they become."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[MODEL=]FILE",
        help="results of benchmark_app, trtexec or pyperf",
    )
    add_settings(parser, "import")
    add_format(parser)
    add_verbose(parser)


def run_import(options: argparse.Namespace) -> int:
    """Write and print the run."""
    from app.present.console.answer.document import import_files

    return print_document(import_files(options, width_of(sys.stdout)), options)


def add_verify(parser: argparse.ArgumentParser) -> None:
    """The run folder."""
    parser.add_argument("folder", metavar="RUN", help="the run folder")
    add_format(parser)


def run_verify(options: argparse.Namespace) -> int:
    """Print what is damaged; 1 if something is."""
    from app.present.console.export_formats import verify_folder

    code, blocks, text = verify_folder(options.folder)
    return print_document(blocks, options, {"table": lambda: text}) or code
