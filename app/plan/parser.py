"""All flags of the command line: their names, their help, and the groups they are used in."""

from __future__ import annotations

import argparse

from app.cases.flag_parser import FlagParser
from app.plan.settings.arguments import add_settings
from app.plan.settings.table import SETTINGS

_EPILOG = """\
examples:
  graphlap runs/nets
  graphlap --headless --suite starter
  graphlap --headless --models cnn_tiny,lstm_tiny --runtimes ort-cpu --scenario paced:20us
  graphlap --headless --models "nets/*.onnx" --batch 1,2,4 --preset standard --out runs/nets
  graphlap --headless --models mlp --ci-width p50=1%,p99=10% --percentiles 50,99,99.99
  graphlap --headless --models mlp --option ort-cpu.graph_optimization=all,basic,off
  graphlap --headless --models char_cnn --replicas 2,4
  graphlap --headless --models resnet18_v1 --largest-batch --memory-limit 8GiB
  graphlap --headless --models mlp --runtimes ort-cpu --slo p99=5ms
  graphlap --headless --models char_cnn --tune throughput --max-error 2% --budget 15m
  graphlap --check --models "nets/*.onnx" --runtimes all
  graphlap --study vollo --budget 15m
  graphlap --resume runs/nets
  graphlap --show runs/nets --verbose
  graphlap --headless --plan runs/nets
  graphlap --headless --models old.onnx,new.onnx --baseline old.onnx --fail-on slower
  graphlap --headless --models mlp --runtimes ort-cpu --aa 20
  graphlap --headless --models mlp --cluster ssh:board1,board2 --per-host
  graphlap --compare runs/before runs/after --fail-on slower --markdown
  graphlap --export markdown,trace runs/nets
  graphlap --report runs/nets -o nets.html
  graphlap --import times.json resnet=trt.json --out runs/theirs
  graphlap --merge laptop/nets server/nets --out runs/both
  graphlap --history runs --plot runs/history.svg --fail-on slower

exit codes: 0 all rows are well, 1 a row failed or was not come to, nothing could be measured
or, of --check, compiled, a disk failed, the table could not be printed,
or --doctor found a broken runtime, 2 the command or the plan is wrong and nothing was written,
3 a comparison or --history found a case slower and --fail-on asked for that, which gives 1
where a case could not be judged, 130 interrupted.
Ctrl-C once ends after the block in flight, twice at once; --resume goes on from there.
"""


def parser() -> argparse.ArgumentParser:
    """All flags, grouped as they are used."""
    top = FlagParser(
        prog="graphlap",
        description="Lap times for ONNX graphs: one graph, every runtime, the whole latency "
        "distribution. Without --headless, --check, --study, --resume, --list or --doctor it "
        "opens the window.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="for the window: a run folder to open, a plan or .onnx files for its editor",
    )
    mode = top.add_argument_group("what to do")
    mode.add_argument("--headless", action="store_true", help="measure without a window")
    mode.add_argument("--list", action="store_true", help="list the models, or those of --suite")
    mode.add_argument("--format", default="table", help="of --list: table, csv or json")
    mode.add_argument("--doctor", action="store_true", help="what is here, missing or doubtful")
    mode.add_argument(
        "--install-desktop",
        action="store_true",
        help="put the window among the desktop's applications",
    )
    mode.add_argument("--cache-info", action="store_true", help="what the cache holds")
    mode.add_argument("--cache-clear", action="store_true", help="empty the cache, engines too")
    mode.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two run folders, case by case"
    )
    mode.add_argument(
        "--history",
        metavar="DIR",
        help="the runs below a folder: each case over time, its changes; of --compare: the runs "
        "that show how far runs of this machine differ (default: those beside A and B)",
    )
    mode.add_argument(
        "--report", nargs="+", metavar="RUN", help="one HTML page of run folders, two compared"
    )
    mode.add_argument(
        "-o", "--output", metavar="FILE", help="of --report: the page; default report.html"
    )
    mode.add_argument(
        "--import",
        dest="imports",
        nargs="+",
        metavar="[NAME=]FILE",
        help="result files of benchmark_app, onnxruntime_perf_test, trtexec, Polygraphy, LoadGen "
        "or pyperf as a run folder",
    )
    mode.add_argument(
        "--merge",
        nargs="+",
        metavar="[NAME=]RUN",
        help="run folders of several machines, made apart, as one; NAME is what the host is called",
    )
    mode.add_argument(
        "--verify", metavar="DIR", help="what is damaged in a run folder, if anything"
    )
    mode.add_argument(
        "--study",
        metavar="NAME",
        help="repeat a founding document: measure its plan, and write a page with its tables; of "
        "a run that is there: --study NAME RUN",
    )
    mode.add_argument("--resume", metavar="DIR", help="measure what a run folder still lacks")
    mode.add_argument("--show", metavar="RUN", help="print what a run printed when it ended")
    mode.add_argument("--debug", action="store_true", help="show tracebacks")
    add_settings(top, SETTINGS)
    return top
