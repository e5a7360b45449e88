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
    """`own_module` is the name of one that is not the group's."""

    name: str
    group: str
    summary: str
    examples: tuple[str, ...] = ()
    own_module: str = ""

    @property
    def module(self) -> str:
        """The module with its options and its work."""
        return f"app.cli.{self.own_module or _MODULES.get(self.group, self.name)}"


_MODULES = {"measure": "measuring", "results": "results", "machine": "machine"}
"""Of a group; any other command has one of its name."""


COMMANDS = (
    Command(
        "run",
        "measure",
        "measure models, a suite or a plan",
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
        ('graphlap check "nets/*.onnx" --runtimes all',),
    ),
    Command(
        "slo",
        "measure",
        "search for the highest request rate that meets a latency target",
        ("graphlap slo net.onnx --target p99=5ms",),
    ),
    Command(
        "tune",
        "measure",
        "search runtimes and their options for the best figure",
        ("graphlap tune net.onnx --goal throughput --max-error 2% --budget 15m",),
    ),
    Command(
        "noise",
        "measure",
        "compare each case with itself: which changes would be detected here?",
        ("graphlap noise mlp --runtimes ort-cpu -n 20",),
    ),
    Command(
        "study",
        "measure",
        "repeat a published study and write a page with its tables",
        ("graphlap study vollo --budget 15m", "graphlap study vollo runs/vollo"),
    ),
    Command(
        "resume",
        "measure",
        "measure what a run folder still lacks",
        ("graphlap resume runs/nets",),
    ),
    Command(
        "show",
        "results",
        "print the results of a run, or of several as one",
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
        (
            "graphlap compare runs/before runs/after --fail-on slower",
            "graphlap compare runs/before runs/after -f json | jq .counts",
        ),
    ),
    Command(
        "history",
        "results",
        "find the changes of each case over many runs",
        ("graphlap history runs --plot history.svg --fail-on slower",),
    ),
    Command(
        "report",
        "results",
        "write one HTML page of a run, of several as one, or of two compared",
        ("graphlap report runs/nets -o nets.html",),
    ),
    Command(
        "export",
        "results",
        "write runs in the formats of other programs",
        (
            "graphlap export runs/nets -f markdown,trace",
            "graphlap export board/nets server/nets -f csv -o both",
        ),
    ),
    Command(
        "import",
        "results",
        "make a run folder of the result files of other benchmarks",
        ("graphlap import times.json resnet=trt.json --out runs/theirs",),
    ),
    Command(
        "verify",
        "results",
        "report what is damaged in a run folder",
        ("graphlap verify runs/nets",),
    ),
    Command(
        "models",
        "machine",
        "list the models and suites of the catalogue",
        ("graphlap models --suite layers", "graphlap models -f csv"),
    ),
    Command(
        "runtimes",
        "machine",
        "list the runtimes and whether they can be used here",
        ("graphlap runtimes", "graphlap runtimes ort-cpu -f json"),
    ),
    Command(
        "doctor",
        "machine",
        "examine this machine: what is ready, missing or unreliable",
        ("graphlap doctor", "graphlap doctor --cluster ssh:board1,board2"),
    ),
    Command(
        "cache",
        "machine",
        "show, empty or limit the cache of exports and engines",
        ("graphlap cache info", "graphlap cache clear", "graphlap cache info --limit 8GiB"),
        "cache",
    ),
    Command(
        "card",
        "machine",
        "what a model would need of a simulated card: search",
        ("graphlap card search net.onnx --p99 2us",),
        "card",
    ),
    Command(
        "worker",
        "machine",
        "serve as a host of a cluster",
        ("graphlap worker tls://scheduler:8786", "graphlap worker --stdio --cores 0-7"),
    ),
    Command(
        "open",
        "program",
        "open the window",
        ("graphlap open", "graphlap open runs/nets", "graphlap open net.onnx"),
    ),
    Command(
        "completion",
        "program",
        "print a completion script for a shell",
        ("graphlap completion bash > ~/.local/share/bash-completion/completions/graphlap",),
    ),
    Command(
        "help",
        "program",
        "list the commands, or print a help page",
        ("graphlap help", "graphlap help scenarios", "graphlap help run"),
    ),
)
BY_NAME = {command.name: command for command in COMMANDS}
