"""`graphlap help`, `-h` and `--version`: none of them imports an engine."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
from typing import TextIO

from app.cases.errors import PlanError, suggestion
from app.commands.output import print_text
from app.commands.table import BY_NAME, COMMANDS, EXAMPLES

_ENGINES = (
    "onnxruntime",
    "onnxruntime-gpu",
    "openvino",
    "torch",
    "tensorrt",
    "tensorrt-rtx",
)
_TOPICS = ("scenarios", "conditions", "names", "exit-codes", "settings")
_NAME_WIDTH = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The page."""
    parser.add_argument(
        "topic", nargs="?", metavar="PAGE", help=f"a command, or one of {', '.join(_TOPICS)}"
    )


def run(options: argparse.Namespace) -> int:
    """Print the page, or the list of all commands."""
    if options.topic is None:
        return print_text(_every_command())
    if options.topic in BY_NAME:
        from app.commands.parsers import parser_of

        return print_text(parser_of(BY_NAME[options.topic]).format_help())
    from app.commands.pages import PAGES

    if options.topic not in PAGES:
        raise PlanError(
            f"there is no help page {options.topic!r}",
            suggestion(options.topic, (*PAGES, *BY_NAME), "graphlap help lists them"),
        )
    return print_text(PAGES[options.topic]())


def print_short(stream: TextIO | None = None) -> int:
    """The help on one screen. To standard error it is for want of a command, which exits with 2."""
    if stream is None:
        return print_text(short_help())
    stream.write(short_help())
    return 2


def print_version() -> int:
    """Our version, and those of the engines that are installed."""
    lines = [f"graphlap {_version('graphlap') or '0+checkout'}"]
    lines += [f"{name} {number}" for name in _ENGINES if (number := _version(name))]
    return print_text("\n".join(lines) + "\n")


def short_help() -> str:
    """What stands behind `-h`."""
    lines = [
        "Graphlap measures the latency of ONNX graphs on every runtime of this machine.",
        "",
        "usage: graphlap COMMAND [OPTION…]",
        "       graphlap net.onnx       measure a file; the same as graphlap run net.onnx",
        "       graphlap RUN            open a run folder, or print it without a display",
        "",
        "commands",
        *(f"  {group:<{_NAME_WIDTH}}{names}" for group, names in _groups().items()),
        "",
        "examples",
        *(f"  {line}" for line in EXAMPLES),
        "",
        "graphlap help              what each command does",
        "graphlap COMMAND -h        its options",
        f"graphlap help PAGE         {', '.join(_TOPICS)}",
        "graphlap --version         versions of Graphlap and of the engines",
    ]
    return "\n".join(lines) + "\n"


def _groups() -> dict[str, str]:
    groups: dict[str, list[str]] = {}
    for command in COMMANDS:
        groups.setdefault(command.group, []).append(command.name)
    return {group: " ".join(names) for group, names in groups.items()}


def _every_command() -> str:
    lines = []
    for group in _groups():
        lines += ["", group]
        lines += [f"  {c.name:<{_NAME_WIDTH}}{c.summary}" for c in COMMANDS if c.group == group]
    return "\n".join([*lines[1:], "", f"pages: {', '.join(_TOPICS)}"]) + "\n"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
