"""All flags of the command line: their names, their help, and the groups they are used in."""

from __future__ import annotations

import argparse

from app.cases.axes import AXES
from app.cases.flag_parser import FlagParser

_EPILOG = """\
examples:
  graphlap runs/nets
  graphlap --headless --suite starter
  graphlap --headless --models cnn_tiny,lstm_tiny --runtimes ort-cpu --scenario paced:20us
  graphlap --headless --models "nets/*.onnx" --batch 1,2,4 --profile standard --out runs/nets
  graphlap --headless --models mlp --precise p50=1%,p99=10% --percentiles 50,99,99.99
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
    mode.add_argument("--cache-limit", metavar="SIZE", help="what it may hold; default 16GiB")
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
        "--check",
        action="store_true",
        help="will it run there: compile each case as far as this machine can, and time nothing",
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
    what = top.add_argument_group("what to measure")
    what.add_argument("--suite", metavar="NAME", help="a plan that ships, such as starter")
    what.add_argument(
        "--plan", metavar="FILE|RUN", help="a plan of your own, in TOML, or a run folder to repeat"
    )
    what.add_argument(
        "--models",
        metavar="A,B,…",
        help="names of --list, .onnx paths or globs, file.py:factory, hf:folder; comma-separated",
    )
    what.add_argument(
        "--runtimes",
        metavar="A,B,…",
        help="default: all that are available; all: every one that there is, others as rows",
    )
    what.add_argument(
        "--environment",
        metavar="NAME=PYTHON",
        action="append",
        default=[],
        help="an interpreter with its packages: ort-cpu@NAME measures what it has",
    )
    what.add_argument("--batch", metavar="N,…", help="batch sizes")
    what.add_argument(
        "--axis", metavar="NAME=N,…", action="append", default=[], help="sizes of any other axis"
    )
    for axis in AXES:
        action = "append" if axis.repeated else "store"
        what.add_argument(axis.flag, metavar=axis.metavar, action=action, help=axis.help)
    what.add_argument(
        "--option",
        metavar="RUNTIME.NAME=V,…",
        action="append",
        default=[],
        help="values of a runtime's option, each a case of its own",
    )
    what.add_argument(
        "--gaps",
        metavar="A..B",
        help="scenarios paced by gaps from A to B in steps of 1, 2 and 5, such as 20us..1s",
    )
    what.add_argument(
        "--replicas",
        metavar="N,…",
        help="sessions that share the work of --scenario offline, such as 2,4; one alone too",
    )
    what.add_argument("--wait", metavar="POLICY", help="in a gap: spin (default), hybrid or sleep")
    what.add_argument(
        "--accuracy",
        metavar="PATH",
        help="test each model on a folder of classes, or an .npz of images and labels",
    )
    what.add_argument(
        "--profile-ops",
        action="store_true",
        help="tell the times of the operators too, in processes of their own",
    )
    what.add_argument(
        "--largest-batch",
        action="store_true",
        help="search for the largest batch that fits, from --batch or 1 on",
    )
    what.add_argument(
        "--slo",
        metavar="P=TIME",
        help="search for the highest rate of requests that keeps a target, such as p99=5ms",
    )
    what.add_argument(
        "--tune",
        metavar="GOAL",
        help="search runtimes and their options for the best p99, mean, throughput or "
        "throughput@p99=10ms",
    )
    what.add_argument(
        "--max-error",
        metavar="X",
        help="of --tune: what outputs may be off by, such as 2%%; precisions are searched too",
    )
    what.add_argument(
        "--baseline",
        metavar="X",
        help="compare each case with this runtime, model, @environment or runtime.option=value of "
        "the same run",
    )
    what.add_argument(
        "--aa",
        metavar="N",
        help="compare each case with itself N times: wrong verdicts, smallest findable change",
    )
    what.add_argument(
        "--anchor",
        metavar="RUNTIME",
        help="measure a small fixed case on this runtime in every pass, to show how the machine "
        "moves from run to run",
    )
    what.add_argument(
        "--cold-start",
        metavar="N",
        help="start N fresh processes of each case: what they take to their first answer",
    )
    what.add_argument(
        "--page-cache",
        metavar="STATE",
        help="of --cold-start: files warm in memory (default), or dropped from it",
    )
    what.add_argument(
        "--null",
        action="store_true",
        help="of each case a twin that computes next to nothing too: model minus null is compute",
    )
    what.add_argument(
        "--baseline-run", metavar="DIR", help="compare the run with this stored one when it ends"
    )
    against = top.add_argument_group("of --compare, --baseline, --baseline-run and --history")
    against.add_argument("--band", metavar="P", help="a change within this is none; default 2%%")
    against.add_argument(
        "--judge",
        metavar="LIST",
        help="figures to judge: percentiles, mean, throughput (default p50,p99)",
    )
    against.add_argument(
        "--fail-on",
        metavar="slower",
        help="exit with 3 if a case is slower, 1 if one can't be judged",
    )
    against.add_argument(
        "--markdown", action="store_true", help="of --compare and --check: print Markdown"
    )
    against.add_argument("--json", metavar="FILE", help="write what was found as JSON")
    against.add_argument("--csv", metavar="FILE", help="of --history: write each run's figures")
    against.add_argument("--plot", metavar="FILE", help="of --history and --gaps: draw as SVG")
    against.add_argument(
        "--any-host", action="store_true", help="of --history: runs of all machines in one series"
    )
    against.add_argument(
        "--junit", metavar="FILE", help="of --compare: write the verdicts as JUnit XML"
    )
    own = top.add_argument_group("of your own")
    own.add_argument("--weights", metavar="FILE", help="safetensors for the models named")
    own.add_argument(
        "--inputs", metavar="FILE,…", help=".npz of inputs by name, or several sets; default: drawn"
    )
    own.add_argument(
        "--input-range",
        metavar="NAME=LO:HI",
        action="append",
        default=[],
        help="what an input is drawn from; integers take both ends",
    )
    own.add_argument(
        "--rotate-inputs",
        action="store_true",
        help="feed another set from run to run: those of --inputs, or eight that are drawn",
    )
    own.add_argument(
        "--save-inputs", action="store_true", help="keep what was fed in the run folder"
    )
    own.add_argument(
        "--state",
        metavar="OUT=IN",
        action="append",
        default=[],
        help="an output that becomes this input in the next run",
    )
    own.add_argument("--calibration", metavar="FILE", help=".npz of samples for int8")
    own.add_argument("--from-node", metavar="A,B", help="measure part of an .onnx, from here")
    own.add_argument("--to-node", metavar="A,B", help="to here")
    own.add_argument(
        "--custom-ops",
        metavar="FILE",
        action="append",
        default=[],
        help="a library of operators for ONNX Runtime",
    )
    how = top.add_argument_group("how long, and where to")
    how.add_argument(
        "--profile", metavar="NAME", help="glance, quick (default), brief, standard or publication"
    )
    how.add_argument("--rounds", metavar="N", help="processes per case, instead of the profile's")
    how.add_argument(
        "--spread",
        metavar="TIME",
        help="spread the rounds of a case over at least so long, such as 10m; 0 for in a row "
        "(default: the profile's)",
    )
    how.add_argument(
        "--percentiles", metavar="P,…", help="which percentiles are shown, such as 50,99,99.99"
    )
    how.add_argument(
        "--precise",
        metavar="P=X%,…",
        help="rounds until intervals reach no farther, such as p50=1%%,p99=10%%; at most --rounds",
    )
    how.add_argument(
        "--deadline", metavar="TIME", help="tell the share of runs that take longer, such as 100us"
    )
    how.add_argument(
        "--time-limit", metavar="TIME", help="when a round or an export is ended, such as 90s, 2m"
    )
    how.add_argument(
        "--budget", metavar="TIME", help="of the whole run: first one round of each case, then more"
    )
    how.add_argument(
        "--memory-limit",
        metavar="SIZE",
        help="of the host's memory that a measuring process may hold, such as 8GiB",
    )
    how.add_argument(
        "--device-memory-limit",
        metavar="SIZE",
        help="of the memory of a GPU that a measuring process may hold, such as 16GiB",
    )
    how.add_argument(
        "--cores", metavar="N,…", help="where the measuring process runs, such as 2,3 or 2-5"
    )
    how.add_argument(
        "--lock-memory", action="store_true", help="lock the measuring process into memory"
    )
    how.add_argument(
        "--realtime",
        metavar="PRIORITY",
        help="its priority of SCHED_FIFO, 1 to 99; needs --cores that leave one out",
    )
    how.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="measure on other machines: ssh:HOST,HOST, tls://SCHEDULER:8786, local:N for trying",
    )
    how.add_argument(
        "--per-host", action="store_true", help="of --cluster: every case on every machine"
    )
    how.add_argument(
        "--send-code",
        action="store_true",
        help="of --cluster: files of your own, file.py:factory, may run on the other machines",
    )
    how.add_argument(
        "--insecure-cluster",
        action="store_true",
        help="of --cluster tcp://: without certificates, off this machine too",
    )
    how.add_argument("--unchecked", action="store_true", help="compare no outputs")
    how.add_argument(
        "--tolerance",
        metavar="X",
        help="what outputs may be off by, of their largest; default: as their types round",
    )
    how.add_argument("--seed", metavar="N", help="of the order of rounds and of all that is drawn")
    how.add_argument("--out", metavar="DIR", help="a new run folder; default: graphlap-results/…")
    how.add_argument(
        "--export",
        metavar="FORMAT,…",
        help="csv, json, markdown, parquet, hdr, trace: files beside results.csv; of run folders "
        "too, without --headless: --export trace RUN",
    )
    how.add_argument(
        "--columns",
        metavar="NAME,…",
        help="of results.csv: all, columns, or groups: identity, settings, latency, throughput, "
        "confidence, verdict, other",
    )
    how.add_argument(
        "--sort", metavar="COLUMN", help="order of the table at the end: p99, model, batch_size, …"
    )
    how.add_argument(
        "--strict", action="store_true", help="unavailable, unsupported and partial rows fail too"
    )
    how.add_argument(
        "--verbose", action="store_true", help="print every row, warning and interval too"
    )
    how.add_argument("--debug", action="store_true", help="show tracebacks")
    return top
