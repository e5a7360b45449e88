"""`graphlap help` with its pages, `-h` and `--version`: none of them imports an engine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from textwrap import fill
from typing import TextIO

from app.cases.errors import PlanError, suggestion
from app.cases.scenario import FORMS, example_of
from app.cli.output import print_text
from app.cli.table import BY_NAME, COMMANDS, EXAMPLES

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


def add_help(parser: argparse.ArgumentParser) -> None:
    """The page."""
    parser.add_argument(
        "topic", nargs="?", metavar="PAGE", help=f"a command, or one of {', '.join(_TOPICS)}"
    )


def run_help(options: argparse.Namespace) -> int:
    """Print the page, or the list of all commands."""
    if options.topic is None:
        return print_text(_every_command())
    if options.topic in BY_NAME:
        from app.cli.parsers import parser_of

        return print_text(parser_of(BY_NAME[options.topic]).format_help())
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


EXIT_CODES = (
    (0, "every row is good"),
    (
        1,
        "a row failed or was not measured; nothing could be measured or, of check, compiled; "
        "a run folder is damaged; a disk failed; the results could not be printed; doctor found "
        "a broken runtime; with --fail-on slower, a case could not be judged, or --detect asks for "
        "more than it could find",
    ),
    (2, "the command or the plan is wrong; nothing was written"),
    (3, "with --fail-on slower: a case is slower"),
    (130, "interrupted; resume goes on from there"),
)


_PAGE_WIDTH = 80


def _scenario_lines() -> Iterator[str]:
    for kind, form in FORMS.items():
        yield f"  {example_of(kind):<20} {form.help}"


_SCENARIOS = """\
Scenarios: how requests arrive

  --scenario A,B,…     each is a case of its own:

{}

  --idle-sweep 20us..1s
                       a paced scenario for each gap in steps of 1, 2 and 5
  --batcher max=8,wait=2ms
                       requests of an open loop are served in batches
  --idle-policy POLICY between runs: spin (default), hybrid or sleep

A closed loop shows what one client waits. In an open loop requests arrive
independently of completions, and the latency includes the time in the queue.
"""
_CONDITIONS = """\
Conditions: what else happens while a case is measured

  --condition A,B,…    each is a case of its own:

  none                 nothing else (default)
  cold:64MB            between two runs 64 MB go through the caches
  cold-l2              between two runs the GPU's L2 cache is overwritten
  sustained:30min      a round lasts so long; its end is compared with its start
  with:MODEL           another model runs at the same time
  shapes:FILE          one session serves the sizes that a CSV file lists

Compare a condition with none:
  graphlap run mlp --condition none,cold:64MB
"""
_NAMES = """\
Names: models and runtimes

Models, as arguments of run, check, slo, tune and noise:
  net.onnx             a file; "nets/*.onnx": each file that matches
  nets/                each .onnx file of a folder
  mlp                  a model of the catalogue: graphlap models
  mynet.py:build       a function that returns a torch module and its inputs
  hf:FOLDER            what save_pretrained of transformers wrote
Or one of:
  starter              a suite: graphlap models --suite NAME
  plan.toml            a plan
  runs/nets            a run folder, whose plan is measured once more

Runtimes, for --runtimes: name[:device][@release or environment]
  ort-cpu              graphlap runtimes lists all of them
  ort-cuda:1           on the second GPU; ort-cuda:0+1: on both at once
  fpga:v80@sdk26       a simulated card and its release
  ort-cpu@spring       an environment: --python spring=/envs/spring/bin/python
  available            every runtime that can be used here
  all                  every runtime: one that can't be used is `unavailable`
Models that are named without --runtimes are measured by the engines that are
installed and open them; the simulated card is measured when it is named.

Options of a runtime: --option ort-cpu.graph_optimization=all,basic
  graphlap runtimes ort-cpu lists them
"""


def _exit_codes() -> str:
    rows = (
        fill(text, _PAGE_WIDTH, initial_indent=f"  {code:>3}  ", subsequent_indent=" " * 7)
        for code, text in EXIT_CODES
    )
    end = "Ctrl-C once ends a run after the block in flight, twice at once."
    return "\n".join(("Exit codes", "", *rows, "", end)) + "\n"


def _settings() -> str:
    """Every setting of `run`, those too that its own help leaves out."""
    from app.plan.command_line import add_settings

    parser = argparse.ArgumentParser(prog="", usage=argparse.SUPPRESS, add_help=False)
    add_settings(parser, "run")
    head = "Settings of graphlap run; check, slo, tune and noise take them too"
    return f"{head}\n\n{parser.format_help()}"


PAGES: dict[str, Callable[[], str]] = {
    "scenarios": lambda: _SCENARIOS.format("\n".join(_scenario_lines())),
    "conditions": lambda: _CONDITIONS,
    "names": lambda: _NAMES,
    "exit-codes": _exit_codes,
    "settings": _settings,
}
