"""The commands: name, group, summary, examples, and the module that has the options and the work.

A module has `add_NAME(parser)` and `run_NAME(options) -> int` of each of its commands. It is
imported only when one of them is started, so this table imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

EXAMPLES = (
    "graphlap net.onnx",
    'graphlap run "nets/*.onnx" --runtimes ort-cpu,openvino-cpu --batch 1,8',
    "graphlap run old.onnx new.onnx --baseline old.onnx --fail-on slower",
    "graphlap compare runs/before runs/after -f json",
    "graphlap slo net.onnx --target p99=5ms",
    "graphlap report runs/nets -o nets.html",
)
"""Of the program as a whole."""


@dataclass(frozen=True, slots=True)
class Command:
    """`module` is below `app`."""

    name: str
    group: str
    summary: str
    module: str
    examples: tuple[str, ...] = ()


COMMANDS = (
    Command(
        "run",
        "measure",
        "measure models, a suite or a plan",
        "commands.measuring",
        (
            "graphlap run net.onnx",
            "graphlap run nets/ --runtimes ort-cpu,openvino-cpu --batch 1,8 --out runs/nets",
            "graphlap run starter",
            "graphlap run mlp --scenario poisson:500/s --ci-width p50=1%",
        ),
    ),
    Command(
        "check",
        "measure",
        "compile each case without running it: does it run there?",
        "commands.measuring",
        ('graphlap check "nets/*.onnx" --runtimes all',),
    ),
    Command(
        "slo",
        "measure",
        "search for the highest request rate that meets a latency target",
        "commands.measuring",
        ("graphlap slo net.onnx --target p99=5ms",),
    ),
    Command(
        "tune",
        "measure",
        "search runtimes and their options for the best figure",
        "commands.measuring",
        ("graphlap tune net.onnx --goal throughput --max-error 2% --budget 15m",),
    ),
    Command(
        "noise",
        "measure",
        "compare each case with itself: which changes would be detected here?",
        "commands.measuring",
        ("graphlap noise mlp --runtimes ort-cpu -n 20",),
    ),
    Command(
        "study",
        "measure",
        "repeat a published study and write a page with its tables",
        "commands.measuring",
        ("graphlap study vollo --budget 15m", "graphlap study vollo runs/vollo"),
    ),
    Command(
        "resume",
        "measure",
        "measure what a run folder still lacks",
        "commands.measuring",
        ("graphlap resume runs/nets",),
    ),
    Command(
        "show",
        "results",
        "print the results of a run, or of several as one",
        "commands.results",
        (
            "graphlap show runs/nets --verbose",
            "graphlap show runs/nets -f csv",
            "graphlap show edge=board/nets server/nets",
        ),
    ),
    Command(
        "compare",
        "results",
        "compare two runs, case by case",
        "commands.results",
        (
            "graphlap compare runs/before runs/after --fail-on slower",
            "graphlap compare runs/before runs/after -f json | jq .counts",
        ),
    ),
    Command(
        "history",
        "results",
        "find the changes of each case over many runs",
        "commands.results",
        ("graphlap history runs --plot history.svg --fail-on slower",),
    ),
    Command(
        "report",
        "results",
        "write one HTML page of a run, of several as one, or of two compared",
        "commands.results",
        ("graphlap report runs/nets -o nets.html",),
    ),
    Command(
        "export",
        "results",
        "write runs in the formats of other programs",
        "commands.results",
        (
            "graphlap export runs/nets -f markdown,trace",
            "graphlap export board/nets server/nets -f csv -o both",
        ),
    ),
    Command(
        "import",
        "results",
        "make a run folder of the result files of other benchmarks",
        "commands.results",
        ("graphlap import times.json resnet=trt.json --out runs/theirs",),
    ),
    Command(
        "verify",
        "results",
        "report what is damaged in a run folder",
        "commands.results",
        ("graphlap verify runs/nets",),
    ),
    Command(
        "models",
        "machine",
        "list the models and suites of the catalogue",
        "commands.machine",
        ("graphlap models --suite layers", "graphlap models -f csv"),
    ),
    Command(
        "runtimes",
        "machine",
        "list the runtimes and whether they can be used here",
        "commands.machine",
        ("graphlap runtimes", "graphlap runtimes ort-cpu -f json"),
    ),
    Command(
        "doctor",
        "machine",
        "examine this machine: what is ready, missing or unreliable",
        "commands.machine",
        ("graphlap doctor", "graphlap doctor --cluster ssh:board1,board2"),
    ),
    Command(
        "cache",
        "machine",
        "show, empty or limit the cache of exports and engines",
        "commands.cache",
        ("graphlap cache info", "graphlap cache clear", "graphlap cache info --limit 8GiB"),
    ),
    Command(
        "card",
        "machine",
        "what a model would need of a simulated card: search",
        "commands.card",
        ("graphlap card search net.onnx --p99 2us",),
    ),
    Command(
        "worker",
        "machine",
        "serve as a host of a cluster",
        "commands.machine",
        ("graphlap worker tls://scheduler:8786", "graphlap worker --stdio --cores 0-7"),
    ),
    Command(
        "open",
        "program",
        "open the window",
        "commands.open",
        ("graphlap open", "graphlap open runs/nets", "graphlap open net.onnx"),
    ),
    Command(
        "completion",
        "program",
        "print a completion script for a shell",
        "commands.completion",
        ("graphlap completion bash > ~/.local/share/bash-completion/completions/graphlap",),
    ),
    Command(
        "help",
        "program",
        "list the commands, or print a help page",
        "commands.help",
        ("graphlap help", "graphlap help scenarios", "graphlap help run"),
    ),
)
BY_NAME = {command.name: command for command in COMMANDS}
